# SPDX-License-Identifier: Apache-2.0
# Marks prompts and commands (OSC 133) and the folder (OSC 7).

# First of all hooks, so that the status is still the command's.
__spawn_precmd() {
  builtin emulate -L zsh -o extended_glob -o no_multibyte
  if (( ${+__spawn_ran} )); then
    builtin printf '\e]133;D;%d;nonce=%s\a' $1 $__spawn_nonce
    builtin unset __spawn_ran
  fi
  builtin local folder=${PWD//(#m)[^A-Za-z0-9\/._~-]/%${(l:2::0:)$(([##16]#MATCH))}}
  builtin printf '\e]7;file://%s%s\a' $HOST $folder
}

__spawn_first() {
  builtin local ret=$?
  builtin emulate -L zsh
  __spawn_precmd $ret
  # A prompt may be made anew by a later hook: from the next prompt on this one is the last.
  precmd_functions=(${precmd_functions:#__spawn_last} __spawn_last)
  (( ${preexec_functions[(I)__spawn_preexec]} )) || preexec_functions+=(__spawn_preexec)
  builtin return $ret
}

# The prompt names the nonce, as element 99 of what it shows of psvar, and does not hold it: it may be exported.
__spawn_last() {
  builtin local ret=$?
  builtin emulate -L zsh
  [[ ${psvar[99]-} == $__spawn_nonce ]] || psvar[99]=$__spawn_nonce
  [[ $PS1 == *'133;A;nonce='* ]] || PS1=$'%{\e]133;A;nonce=%99v\a%}'$PS1$'%{\e]133;B;nonce=%99v\a%}'
  builtin return $ret
}

__spawn_preexec() {
  builtin typeset -g __spawn_ran=1
  builtin printf '\e]133;C;nonce=%s\a' $__spawn_nonce
}

builtin typeset -ga precmd_functions preexec_functions
precmd_functions=(__spawn_first $precmd_functions __spawn_last)
preexec_functions+=(__spawn_preexec)
