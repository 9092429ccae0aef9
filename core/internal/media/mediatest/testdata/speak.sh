# Speaks what it reads, as the first of its words says.
set -eu
read -r how rest
case $how in
opus) cat "$1" >"$2" ;;
nothing) ;;
text) echo "no sound" >"$2" ;;
link) ln -s /etc/passwd "$2" ;;
pipe) mkfifo "$2" ;;
large) head -c 300000 /dev/zero >"$2" ;;
fail) echo "no such voice" >&2; exit 1 ;;
esac
