# SPDX-License-Identifier: Apache-2.0
# Read by an interactive bash that spawnd started as `bash --posix`, through ENV. It undoes that start, reads the
# files that this shell would have read by itself, and marks prompts and commands (OSC 133) and the folder (OSC 7).
builtin unset ENV
builtin set +o posix
builtin shopt -u inherit_errexit 2>/dev/null
# What makes a mark this shell's own. From here on it is a variable that no program inherits.
__spawn_nonce=${SPAWN_NONCE-}
builtin unset SPAWN_NONCE
builtin declare +x __spawn_nonce
# A start in POSIX mode chose its own history file.
[[ ${HISTFILE:-} == "$HOME/.sh_history" ]] && HISTFILE=$HOME/.bash_history

# At the top level, not in a function, so that what these files declare is global.
if builtin shopt -q login_shell; then
  [[ -r /etc/profile ]] && builtin . /etc/profile
  if [[ -r $HOME/.bash_profile ]]; then builtin . "$HOME/.bash_profile"
  elif [[ -r $HOME/.bash_login ]]; then builtin . "$HOME/.bash_login"
  elif [[ -r $HOME/.profile ]]; then builtin . "$HOME/.profile"
  fi
else
  [[ -r /etc/bash.bashrc ]] && builtin . /etc/bash.bashrc
  [[ -r $HOME/.bashrc ]] && builtin . "$HOME/.bashrc"
fi

# A command has run, and no D has told of it.
__spawn_ran=0
# Is there for a command that has run, and not for none: with :+ an index chooses what a prompt holds.
__spawn_if=([1]=1)

# Runs before what the user has in PROMPT_COMMAND, which sees the same status as without it.
__spawn_before_prompt() {
  builtin local status=$? LC_ALL=C folder='' c n i
  # Where something stands before this, the status is that one's: then the prompt tells the command's.
  if ((__spawn_ran)) && [[ ${PROMPT_COMMAND-} == __spawn_before_prompt* ]]; then
    builtin printf '\e]133;D;%d;nonce=%s\a' "$status" "$__spawn_nonce"
    __spawn_ran=0
  fi
  for ((i = 0; i < ${#PWD}; i++)); do
    c=${PWD:i:1}
    if [[ $c != [A-Za-z0-9/._~-] ]]; then
      builtin printf -v n '%d' "'$c"
      builtin printf -v c '%%%02X' $((n & 255))
    fi
    folder+=$c
  done
  builtin printf '\e]7;file://%s%s\a' "$HOSTNAME" "$folder"
  __spawn_mark_prompt
  __spawn_take_places
  builtin return "$status"
}

# Runs after it too, because a prompt may be made anew each time. It names the nonce and does not hold it: a prompt
# may be exported.
__spawn_mark_prompt() {
  if [[ ${PS1-} != *__spawn_if* ]]; then
    PS1='\[${__spawn_if[__spawn_ran]:+\e]133;D;$?;nonce=${__spawn_nonce}\a}${__spawn_if[__spawn_ran=0]:+}\e]133;A;nonce=${__spawn_nonce}\a\]'${PS1-}'\[\e]133;B;nonce=${__spawn_nonce}\a\]'
  fi
  # The expansion, which is empty, notes that a command began.
  [[ ${PS0-} == *__spawn_if* ]] || PS0=${PS0-}'\e]133;C;nonce=${__spawn_nonce}\a${__spawn_if[__spawn_ran=1]:0:0}'
}

# The first place and the last one, from the next prompt on, whatever was put there since. An array without more
# than one element is written to as if it was none.
__spawn_take_places() {
  [[ ${PROMPT_COMMAND-} == __spawn_before_prompt* ]] || PROMPT_COMMAND=__spawn_before_prompt${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}
  if ((${#PROMPT_COMMAND[@]} < 2)); then
    [[ $PROMPT_COMMAND == *__spawn_mark_prompt ]] || PROMPT_COMMAND+=$'\n'__spawn_mark_prompt
  elif [[ ${PROMPT_COMMAND[-1]} != *__spawn_mark_prompt ]]; then
    PROMPT_COMMAND+=(__spawn_mark_prompt)
  fi
}

# A prompt that is not expanded could not carry all this.
if builtin shopt -q promptvars; then
  __spawn_take_places
fi
