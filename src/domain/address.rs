//! IP addresses: single ones, and the ranges that fill the pool.

use std::net::IpAddr;

use thiserror::Error;

/// How many addresses one argument of `ip add` may name: a typing error such
/// as /8 must not fill the store.
pub const MAX_RANGE: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("`{0}` is not an IPv4 or IPv6 address")]
    Address(String),
    #[error("`{0}` is not an address, a CIDR block or a range FIRST-LAST")]
    Range(String),
    #[error(
        "`{given}` is an address inside the block {block}: give the address alone, or the block"
    )]
    HostBits { given: String, block: String },
    #[error("`{0}` mixes IPv4 and IPv6")]
    Mixed(String),
    #[error("`{0}` ends before it begins")]
    Backwards(String),
    #[error("`{0}` names more than {MAX_RANGE} addresses")]
    TooMany(String),
    #[error("`{given}` is {kind}; a floating address must be a unicast address of its own")]
    NotAssignable { given: String, kind: &'static str },
}

/// Parses one address; IPv4-mapped IPv6 becomes IPv4, so that one address has
/// one spelling.
pub fn parse(s: &str) -> Result<IpAddr, AddressError> {
    let text = s
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .unwrap_or(s);
    text.parse::<IpAddr>()
        .map(|a| a.to_canonical())
        .map_err(|_| AddressError::Address(s.escape_debug().to_string()))
}

/// The addresses that `ADDR`, `CIDR` or `FIRST-LAST` names, in order. Of a CIDR
/// block the network and (IPv4) broadcast addresses are left out, except in
/// /31, /32, /127 and /128.
pub fn parse_range(s: &str) -> Result<Vec<IpAddr>, AddressError> {
    let shown = s.escape_debug().to_string();
    let list: Vec<IpAddr> = if s.contains('/') {
        let net: ipnet::IpNet = s.parse().map_err(|_| AddressError::Range(shown.clone()))?;
        if net.trunc() != net {
            return Err(AddressError::HostBits {
                given: shown,
                block: net.trunc().to_string(),
            });
        }
        take(net.hosts(), &shown)?
    } else if let Some((first, last)) = s.split_once('-') {
        match (parse(first)?, parse(last)?) {
            (IpAddr::V4(a), IpAddr::V4(b)) if a <= b => {
                take(ipnet::Ipv4AddrRange::new(a, b).map(IpAddr::V4), &shown)?
            }
            (IpAddr::V6(a), IpAddr::V6(b)) if a <= b => {
                take(ipnet::Ipv6AddrRange::new(a, b).map(IpAddr::V6), &shown)?
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                return Err(AddressError::Mixed(shown));
            }
            _ => return Err(AddressError::Backwards(shown)),
        }
    } else {
        vec![parse(s).map_err(|_| AddressError::Range(shown.clone()))?]
    };
    for a in &list {
        assignable(*a)?;
    }
    Ok(list)
}

fn take(addresses: impl Iterator<Item = IpAddr>, shown: &str) -> Result<Vec<IpAddr>, AddressError> {
    let list: Vec<IpAddr> = addresses.take(MAX_RANGE + 1).collect();
    if list.len() > MAX_RANGE {
        return Err(AddressError::TooMany(shown.to_owned()));
    }
    Ok(list)
}

/// Whether a host may carry the address.
pub fn assignable(a: IpAddr) -> Result<(), AddressError> {
    let kind = if a.is_unspecified() {
        "the unspecified address"
    } else if a.is_loopback() {
        "a loopback address"
    } else if a.is_multicast() {
        "a multicast address"
    } else {
        match a {
            IpAddr::V4(v4) if v4.is_broadcast() => "the broadcast address",
            IpAddr::V6(v6) if (v6.segments()[0] & 0xffc0) == 0xfe80 => "a link-local address",
            _ => return Ok(()),
        }
    };
    Err(AddressError::NotAssignable {
        given: a.to_string(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(s: &str) -> Vec<String> {
        parse_range(s)
            .unwrap()
            .iter()
            .map(IpAddr::to_string)
            .collect()
    }

    #[test]
    fn the_three_forms_expand() {
        assert_eq!(texts("10.0.0.5"), ["10.0.0.5"]);
        assert_eq!(texts("10.0.0.4/30"), ["10.0.0.5", "10.0.0.6"]);
        assert_eq!(texts("10.0.0.4/32"), ["10.0.0.4"]);
        assert_eq!(
            texts("10.0.0.254-10.0.1.1"),
            ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]
        );
        assert_eq!(
            texts("2001:db8::5-2001:db8::6"),
            ["2001:db8::5", "2001:db8::6"]
        );
        assert_eq!(texts("::ffff:10.0.0.1"), ["10.0.0.1"]);
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            "10.0.0",
            "10.0.0.9-10.0.0.1",
            "10.0.0.1-::2",
            "10.0.0.0/8",
            "2001:db8::/32",
            "127.0.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "fe80::1",
            "10.0.0.1/33",
            "a-b",
            "255.255.255.255",
        ] {
            assert!(parse_range(bad).is_err(), "{bad}");
        }
    }
}
