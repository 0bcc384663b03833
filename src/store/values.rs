//! How domain values stand in columns.

use std::fmt::Display;
use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Type;
use serde::de::DeserializeOwned;

/// A text column that has its one parser. A value that does not parse is a
/// damaged store, named by column.
pub(in crate::store) fn parsed<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|e: T::Err| damaged(column, &e))
}

pub(in crate::store) fn parsed_option<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>>
where
    T: FromStr,
    T::Err: Display,
{
    let text: Option<String> = row.get(column)?;
    text.map(|t| t.parse().map_err(|e: T::Err| damaged(column, &e)))
        .transpose()
}

pub(in crate::store) fn json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| damaged(column, &e))
}

pub(in crate::store) fn time(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<crate::domain::time::Timestamp> {
    row.get(column).map(crate::domain::time::Timestamp)
}

pub(in crate::store) fn time_option(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<Option<crate::domain::time::Timestamp>> {
    let value: Option<i64> = row.get(column)?;
    Ok(value.map(crate::domain::time::Timestamp))
}

pub(in crate::store) fn damaged(column: &str, why: &dyn Display) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(
        0,
        Type::Text,
        format!("column {column}: {why}").into(),
    )
}
