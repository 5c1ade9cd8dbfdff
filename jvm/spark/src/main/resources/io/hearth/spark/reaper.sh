# Outlives the driver by a moment: ends its executors and removes its temporary directories.
# Standard input comes from the driver, one line each; its end means that the driver is gone.
#   process PID START   an executor (START: field 22 of /proc/PID/stat, so that no other is ended)
#   directory PATH      to be removed with all it holds
#   file PATH           a run.json to be marked as abandoned
#   quit                the driver has cleaned up itself
trap '' HUP INT TERM
processes=
newline='
'
directories=
document=

while read -r kind value; do
  case $kind in
    process) processes="$processes$value$newline" ;;
    directory) directories="$directories$value$newline" ;;
    file) document=$value ;;
    quit) exit 0 ;;
  esac
done

alive() { # PID START
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  set -- "$2" ${stat##*) }
  [ "$1" = "${21}" ] && [ "$2" != Z ]
}

# Calls the command given for every executor that is still alive; fails when there is none.
each_alive() {
  found=1
  while read -r pid start; do
    if [ -n "$pid" ] && alive "$pid" "$start"; then
      found=0
      "$@" "$pid" 2>/dev/null
    fi
  done <<EOF
$processes
EOF
  return $found
}

# Executors notice that the driver is gone by themselves; what is left after 2 s is ended.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  each_alive true || break
  sleep 0.2
done
each_alive kill -KILL && sleep 0.2

while read -r path; do
  [ -n "$path" ] && rm -rf -- "$path"
done <<EOF
$directories
EOF

if [ -f "$document" ]; then
  sed 's/"state" *: *"running"/"state" : "abandoned"/' "$document" >"$document.partial" &&
    mv "$document.partial" "$document"
fi
