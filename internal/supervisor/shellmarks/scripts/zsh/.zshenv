# SPDX-License-Identifier: Apache-2.0
# Read by a zsh that spawnd started with ZDOTDIR set to this folder. It gives ZDOTDIR back, reads the file that
# stands in its place, and lets an interactive shell mark prompts and commands.
builtin typeset -g __spawn_scripts=${${(%):-%x}:A:h}
# What makes a mark this shell's own. From here on it is a parameter that no program inherits.
builtin typeset -g +x __spawn_nonce=${SPAWN_NONCE-}
builtin unset SPAWN_NONCE
if (( ${+SPAWN_ZDOTDIR} )); then
  builtin export ZDOTDIR=$SPAWN_ZDOTDIR
  builtin unset SPAWN_ZDOTDIR
else
  builtin unset ZDOTDIR
fi
[[ -r ${ZDOTDIR:-$HOME}/.zshenv ]] && builtin source ${ZDOTDIR:-$HOME}/.zshenv
if [[ -o interactive ]]; then
  builtin source $__spawn_scripts/marks.zsh
else
  builtin unset __spawn_nonce
fi
builtin unset __spawn_scripts
