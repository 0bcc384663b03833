#!/bin/sh
# Of one run of kloigos: ssh with the credentials of this run and no others.
kept=
config=
control=
# Adds its arguments, quoted for the shell.
add() {
    for rest in "$@"; do
        quoted=
        while :; do
            case $rest in *\'*) ;; *) break ;; esac
            quoted=$quoted${rest%%\'*}"'\\''"
            rest=${rest#*\'}
        done
        kept="$kept '$quoted$rest'"
    done
}
# The options of ssh(1), read as it reads them itself.
while getopts ':1246ab:c:e:fgi:kl:m:no:p:qstvxyAB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVw:W:XY' o; do
    case $o in
    i | I | S) ;;
    F) @GIVEN_CONFIG@ ;;
    o)
        # Blanks before a name do not matter to ssh.
        name=${OPTARG#"${OPTARG%%[! 	]*}"}
        case $name in
        @KEYS@) continue ;;
        @CONTROL_PATH@)
            case $name in
            *@CONTROL@/*) control=given ;;
            *) continue ;;
            esac ;;
        esac
        add -o "$OPTARG" ;;
    [bcelmpBDEJLOPQRwW]) add "-$o" "$OPTARG" ;;
    '?' | :) add "-$OPTARG" ;;
    *) add "-$o" ;;
    esac
done
shift $((OPTIND - 1))
eval "set -- $kept \"\$@\""
[ -n "$control" ] || set -- -o @CONTROL_OPTION@ "$@"
[ -n "$config" ] || set -- -F @DEFAULT_CONFIG@ "$@"
exec @SSH@@OPTIONS@ "$@"
