/**
 * Finds out whether a message is a command, ranks the names of commands by what was typed after the `/`, and puts all
 * commands into groups as long as nothing was typed. Pure.
 *
 * The server ranks the names in the same way (`engine/text/slash_commands.py`), and sends a new list for each letter
 * that is typed. The page ranks them, too: until the next list arrives, it shows the list for an earlier letter, and
 * the first command of that list must fit what is typed now.
 */

/** A command. Its key is its name, without the `/`. */
interface NamedCommand {
  readonly key: string;
}

/** Whether a message is a command: a slash and a name. `/home/ada` is not a command, but a path. */
export function isCommand(text: string): boolean {
  return /^\/[a-z][\w.-]*(:[\w.-]+)?(\s|$)/i.test(text.trimStart());
}

/**
 * Return how well a name matches what was typed: 0 is the best, undefined is no match. Upper and lower case are not
 * distinguished. For example, `model-info` has rank 1 for `mod`, 2 for `info`, 3 for `fo` and 4 for `mi`.
 */
export function rankName(name: string, typed: string): number | undefined {
  const [lowerName, lowerTyped] = [name.toLowerCase(), typed.toLowerCase()];
  // Each line is a kind of match, the best first. The rank is the index of the first line that is true.
  const matches = [
    lowerName === lowerTyped,
    lowerName.startsWith(lowerTyped),
    lowerName.split(/[^\p{L}\p{N}]/u).some(word => word.startsWith(lowerTyped)),
    lowerName.includes(lowerTyped),
    hasLettersInOrder(lowerName, lowerTyped)
  ];
  const rank = matches.indexOf(true);
  return rank === -1 ? undefined : rank;
}

/**
 * Return all commands in a new order: first those whose names match what was typed, the best match first, and then the
 * others, which the server found by their descriptions.
 */
export function sortCommands<T extends NamedCommand>(commands: readonly T[], typed: string): readonly T[] {
  const ranked = commands.map(command => [rankName(command.key, typed) ?? Infinity, command] as const);
  // Equal ranks are compared first: the difference of two infinite ranks is no number.
  return ranked.sort(([rank], [other]) => (rank === other ? 0 : rank - other)).map(([, command]) => command);
}

/** Return the commands of an earlier list that still fit what is typed. */
export function narrowCommands<T extends NamedCommand>(commands: readonly T[], typed: string): readonly T[] {
  return sortCommands(
    commands.filter(({ key }) => rankName(key, typed) !== undefined),
    typed
  );
}

/**
 * A group of the list of all commands. `common`: what users need often. `own`: what the user, a project or an MCP server
 * has added. `more`: all others.
 */
export type CommandGroup = 'common' | 'own' | 'more';

/** The commands that users need often, the most frequent first. */
const COMMON: readonly string[] = ['notebook', 'go', 'undo', 'diff', 'compact', 'costs', 'model', 'export', 'help'];
/** The order of the groups. */
const GROUPS: readonly CommandGroup[] = ['common', 'own', 'more'];

/** Return all commands with their groups, in the order of the groups. In a group, other commands keep their order. */
export function groupCommands<T extends NamedCommand & { readonly kind: string }>(
  commands: readonly T[]
): readonly (T & { readonly group: CommandGroup })[] {
  const getPlace = ({ key, group }: T & { readonly group: CommandGroup }): number =>
    GROUPS.indexOf(group) * COMMON.length + Math.max(COMMON.indexOf(key), 0);
  return commands
    .map(command => ({ ...command, group: findGroup(command) }))
    .sort((left, right) => getPlace(left) - getPlace(right));
}

/** Return the group of a command. `kind` is its type in the protocol. */
function findGroup({ key, kind }: { readonly key: string; readonly kind: string }): CommandGroup {
  return kind !== 'native' ? 'own' : COMMON.includes(key) ? 'common' : 'more';
}

/** Whether all letters occur in the text, in this order. */
function hasLettersInOrder(text: string, letters: string): boolean {
  let start = 0;
  for (const letter of letters) {
    start = text.indexOf(letter, start) + 1;
    if (start === 0) {
      return false;
    }
  }
  return true;
}
