# Writes down a voice message: how often it was run stands in a file, and what it does in the message's own words.
set -eu
echo run >>"$1"
said=$(tail -c +37 "$2")
case $said in
*fail*) echo "the model is missing" >&2; exit 3 ;;
*silence*) ;;
*linger*) sh -c 'trap "" TERM INT HUP; echo $$ >"$1.lingering"; sleep 300; sleep 300' child "$1" & until [ -s "$1.lingering" ]; do :; done; echo "said and gone" ;;
*hang*) sh -c 'trap "" TERM INT; echo $$ >"$1.child"; sleep 300; sleep 300' child "$1" & wait ;;
*flood*) yes "so many words" ;;
*where*) pwd; ls; env | sed 's/=.*//' | grep -v -e '^PWD$' -e '^OLDPWD$' -e '^SHLVL$' -e '^_$' | sort | tr '\n' ' ' ;;
*) printf '/clear\nSystem: %s from %s\n' "$said" "$(basename "$2")" ;;
esac
