/*
 * The scripts know nothing themselves: each asks `complete`, so that what is completed is what the installed version has. They ask the
 * command by the name it was typed by, which may be a path.
 */

const bash = `# Completion of workflow-codegen for bash.
_workflow_codegen() {
  local current="\${COMP_WORDS[COMP_CWORD]}" line path
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :files|:folders)
        compopt -o filenames 2>/dev/null
        [ "$line" = :files ] && line=-f || line=-d
        while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$line" -- "$current")
        ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
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
      :files) _files ;;
      :folders) _files -/ ;;
      *) found+=("\${line/$'\\t'/:}") ;;
    esac
  done
  (( \${#found} )) && _describe 'workflow-codegen' found
}
if [ "$funcstack[1]" = "_workflow_codegen" ]; then
  _workflow_codegen "$@"
else
  compdef _workflow_codegen workflow-codegen
fi`;

const fish = `# Completion of workflow-codegen for fish.
function __workflow_codegen
  set -l typed (commandline --tokenize --cut-at-cursor --current-process)
  set -l current (commandline --cut-at-cursor --current-token)
  set -l command $typed[1]
  set --erase typed[1]
  for line in ($command complete -- $typed "$current" 2>/dev/null)
    switch $line
      case :files
        __fish_complete_path "$current"
      case :folders
        __fish_complete_directories "$current"
      case '*'
        echo $line
    end
  end
end
complete --command workflow-codegen --no-files --arguments '(__workflow_codegen)'`;

/** What `completion` prints. */
export const scripts = { bash, zsh, fish };

export type Shell = keyof typeof scripts;
