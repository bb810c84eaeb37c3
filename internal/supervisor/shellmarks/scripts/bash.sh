# SPDX-License-Identifier: Apache-2.0
# Read by an interactive bash that spawnd started as `bash --posix`, through ENV. It undoes that start, reads the
# files that this shell would have read by itself, and marks prompts and commands (OSC 133) and the folder (OSC 7).
builtin unset ENV
builtin set +o posix
builtin shopt -u inherit_errexit 2>/dev/null
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

# Runs before what the user has in PROMPT_COMMAND, which sees the same status as without it.
__spawn_before_prompt() {
  builtin local status=$? LC_ALL=C folder='' c n i
  if [[ -n ${__spawn_ran:-} ]]; then
    builtin printf '\e]133;D;%d\a' "$status"
    __spawn_ran=''
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
  builtin return "$status"
}

# Runs after it, because a prompt may be made anew each time.
__spawn_mark_prompt() {
  [[ $PS1 == *'133;A'* ]] || PS1='\[\e]133;A\a\]'$PS1'\[\e]133;B\a\]'
}

# The empty expansion notes that a command began.
[[ ${PS0:-} == *'133;C'* ]] || PS0=${PS0:-}'\[\e]133;C\a\]${PS1:$((__spawn_ran=1)):0}'

if [[ $(builtin declare -p PROMPT_COMMAND 2>/dev/null) == 'declare -a'* ]]; then
  PROMPT_COMMAND=(__spawn_before_prompt "${PROMPT_COMMAND[@]}" __spawn_mark_prompt)
else
  PROMPT_COMMAND=__spawn_before_prompt${PROMPT_COMMAND:+$'\n'$PROMPT_COMMAND}$'\n'__spawn_mark_prompt
fi
