# Outlives the driver by a moment: ends its executors and removes its temporary directories.
# Standard input comes from the driver, one line each; its end means that the driver is gone.
#   process PID START   an executor (START: field 22 of /proc/PID/stat, so that no other is ended)
#   client PID START NAME   of an engine; it ends with the container NAME
#   directory PATH      to be removed with all it holds
#   file PATH           a run.json to be marked as abandoned
#   quit                the driver has cleaned up itself
trap '' HUP INT TERM
processes=
clients=
newline='
'
directories=
document=

while read -r kind value; do
  case $kind in
    process) processes="$processes$value$newline" ;;
    client) clients="$clients$value$newline" ;;
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

# Calls the command given for each of the processes $1 that is still alive; fails when there is none.
each_alive() {
  processes_of=$1
  shift
  found=1
  while read -r pid start name; do
    if [ -n "$pid" ] && alive "$pid" "$start"; then
      found=0
      "$@" "$pid" "$name" 2>/dev/null
    fi
  done <<EOF
$processes_of
EOF
  return $found
}

end_process() { # PID
  kill -KILL "$1"
}

# Docker has been seen to keep a container whose process had ended for over a minute, so it is removed by name.
remove_container() { # PID NAME
  timeout 20 docker rm --force "$2" >/dev/null
}

# What another application of the same id uses by now stays (DirectoryUse).
remove_directories() {
  while read -r path; do
    [ -d "$path" ] || continue
    flock -n -E 75 "$path" rm -rf -- "$path"
    case $? in
      0 | 75) ;;
      *) rm -rf -- "$path" ;; # no flock(1), or no locks on this file system
    esac
  done <<EOF
$directories
EOF
}

# Executors notice that the driver is gone by themselves; what is left after 2 s is ended.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  each_alive "$processes" true || break
  sleep 0.2
done
each_alive "$processes" end_process && sleep 0.2

remove_directories

if [ -f "$document" ]; then
  sed 's/"state" *: *"running"/"state" : "abandoned"/' "$document" >"$document.partial" &&
    mv "$document.partial" "$document"
fi

# A container that was still being started makes its mount points, in directories that are gone.
[ -n "$clients" ] || exit 0
seconds=0
while [ $seconds -lt 60 ] && each_alive "$clients" true; do
  sleep 5
  each_alive "$clients" remove_container
  seconds=$((seconds + 5))
done
remove_directories
