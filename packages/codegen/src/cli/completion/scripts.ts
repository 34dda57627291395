/*
 * The scripts know nothing themselves: each asks `complete`, so that what is completed is what the installed version has. They ask the
 * command by the name it was typed by, which may be a path.
 */

const bash = `# Completion of workflow-codegen for bash.
_workflow_codegen() {
  local current="\${COMP_WORDS[COMP_CWORD]}" option= words=() count=0 i line path
  # Where = breaks words, --format=dot is three of them, and only what follows it is completed.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ $count -gt 0 && ( "\${COMP_WORDS[i]}" = "=" || "\${COMP_WORDS[i - 1]}" = "=" ) ]]; then
      option="\${words[count - 1]%%=*}="
      words[count - 1]+="\${COMP_WORDS[i]}"
    else
      option=
      words[count++]="\${COMP_WORDS[i]}"
    fi
  done
  [ "$current" = "=" ] && current=
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files|:folders)
        compopt -o filenames 2>/dev/null
        [ "$line" = :files ] && line=-f || line=-d
        while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$line" -- "$current")
        ;;
      *)
        line="\${line%%$'\\t'*}"
        COMPREPLY+=("\${line#"$option"}")
        ;;
    esac
  done < <("\${COMP_WORDS[0]}" complete -- "\${words[@]}" 2>/dev/null)
}
complete -F _workflow_codegen workflow-codegen`;

const zsh = `#compdef workflow-codegen
# Completion of workflow-codegen for zsh.
_workflow_codegen() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case "$line" in
      '') ;;
      :files) compset -P '--*='; _files ;;
      :folders) compset -P '--*='; _files -/ ;;
      *) found+=("\${line/$'\\t'/:}") ;;
    esac
  done
  (( \${#found} )) && _describe 'workflow-codegen' found
}
# As a file of the fpath it is called to complete; by eval it is not.
if [[ "$funcstack[1]" = _workflow[-_]codegen ]]; then
  _workflow_codegen "$@"
else
  compdef _workflow_codegen workflow-codegen
fi`;

const fish = `# Completion of workflow-codegen for fish.
function __workflow_codegen
  set -l typed (commandline --tokenize --cut-at-cursor --current-process)
  set -l raw (commandline --cut-at-cursor --current-token)
  # Within quotes that are still open there is nothing to unescape.
  set -l current (string unescape -- "$raw"; or echo $raw)
  set -l option (string match --regex -- '^--[^=]+=' "$current")
  set -l value (string replace -- "$option" '' "$current")
  set -l command $typed[1]
  set --erase typed[1]
  for line in ($command complete -- $typed "$current" 2>/dev/null)
    switch $line
      case :files
        printf '%s\\n' "$option"(__fish_complete_path "$value")
      case :folders
        printf '%s\\n' "$option"(__fish_complete_directories "$value")
      case '*'
        echo $line
    end
  end
end
complete --command workflow-codegen --no-files --arguments '(__workflow_codegen)'`;

/** What `completion` prints. */
export const scripts = { bash, zsh, fish };

export type Shell = keyof typeof scripts;
