# SPDX-License-Identifier: Apache-2.0
# Marks prompts and commands (OSC 133) and the folder (OSC 7).

# First of all hooks, so that the status is still the command's.
__spawn_precmd() {
  builtin emulate -L zsh -o extended_glob -o no_multibyte
  if (( ${+__spawn_ran} )); then
    builtin printf '\e]133;D;%d\a' $1
    builtin unset __spawn_ran
  fi
  builtin local folder=${PWD//(#m)[^A-Za-z0-9\/._~-]/%${(l:2::0:)$(([##16]#MATCH))}}
  builtin printf '\e]7;file://%s%s\a' $HOST $folder
}

__spawn_first() {
  builtin local ret=$?
  __spawn_precmd $ret
  # A prompt may be made anew by a later hook: from the next prompt on this one is the last.
  precmd_functions=(${precmd_functions:#__spawn_last} __spawn_last)
  builtin return $ret
}

__spawn_last() {
  builtin local ret=$?
  [[ $PS1 == *'133;A'* ]] || PS1=$'%{\e]133;A\a%}'$PS1$'%{\e]133;B\a%}'
  builtin return $ret
}

__spawn_preexec() {
  builtin typeset -g __spawn_ran=1
  builtin printf '\e]133;C\a'
}

builtin typeset -ga precmd_functions preexec_functions
precmd_functions=(__spawn_first $precmd_functions __spawn_last)
preexec_functions+=(__spawn_preexec)
