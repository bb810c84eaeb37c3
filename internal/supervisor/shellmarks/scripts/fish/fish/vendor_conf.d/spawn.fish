# SPDX-License-Identifier: Apache-2.0
# Read by a fish that spawnd started with the folder above in XDG_DATA_DIRS. It gives that variable back and
# marks prompts and commands (OSC 133) and the folder (OSC 7). From version 4 on fish does so by itself too; its
# marks have no nonce, and so these count.
if set -q SPAWN_FISH_DIR
    if set -q SPAWN_NO_DATA_DIRS
        set -e XDG_DATA_DIRS SPAWN_NO_DATA_DIRS
    else
        set -gx XDG_DATA_DIRS (string replace -- "$SPAWN_FISH_DIR:" "" "$XDG_DATA_DIRS")
    end
    set -e SPAWN_FISH_DIR
    # What makes a mark this shell's own. From here on it is a variable that no program inherits.
    set -gu __spawn_nonce "$SPAWN_NONCE"
    set -e SPAWN_NONCE
    if status is-interactive
        function __spawn_preexec --on-event fish_preexec
            printf '\e]133;C;nonce=%s\a' $__spawn_nonce
        end
        function __spawn_postexec --on-event fish_postexec
            printf '\e]133;D;%d;nonce=%s\a' $status $__spawn_nonce
        end
        function __spawn_prompt --on-event fish_prompt
            printf '\e]7;file://%s%s\a\e]133;A;nonce=%s\a' (hostname) (string escape --style=url -- $PWD) $__spawn_nonce
        end
        # A line that is given up leaves an empty one behind, without a prompt of its own.
        function __spawn_cancel --on-event fish_cancel
            printf '\e]133;A;nonce=%s\a' $__spawn_nonce
        end
    end
end
