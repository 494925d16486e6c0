PS1='\u@\h:\w\$ '
HISTCONTROL=ignoreboth
alias ll='ls -l'
