# SPDX-License-Identifier: Apache-2.0
# Read by a fish that spawnd started with the folder above in XDG_DATA_DIRS. It gives that variable back and
# marks prompts and commands (OSC 133) and the folder (OSC 7), which fish does by itself from version 4 on.
if set -q SPAWN_FISH_DIR
    if set -q SPAWN_NO_DATA_DIRS
        set -e XDG_DATA_DIRS SPAWN_NO_DATA_DIRS
    else
        set -gx XDG_DATA_DIRS (string replace -- "$SPAWN_FISH_DIR:" "" "$XDG_DATA_DIRS")
    end
    set -e SPAWN_FISH_DIR
    if status is-interactive; and test (string split . -- $version)[1] -lt 4
        function __spawn_preexec --on-event fish_preexec
            printf '\e]133;C\a'
        end
        function __spawn_postexec --on-event fish_postexec
            printf '\e]133;D;%d\a' $status
        end
        function __spawn_prompt --on-event fish_prompt
            printf '\e]7;file://%s%s\a\e]133;A\a' (hostname) (string escape --style=url -- $PWD)
        end
    end
end
