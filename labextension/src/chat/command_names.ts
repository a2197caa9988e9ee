/**
 * Ranks the names of commands by what was typed after the `/`. Pure.
 *
 * The server ranks them in the same way (`engine/text/slash_commands.py`). The page ranks them too, because a list that
 * answers an earlier letter is shown until the next one comes: the first line must always fit what is typed now.
 */

interface Named {
  readonly key: string;
}

/** Return how well a name matches, 0 for an exact one; undefined when it does not. Case does not count. */
export function rankName(name: string, typed: string): number | undefined {
  const [whole, wanted] = [name.toLowerCase(), typed.toLowerCase()];
  const fits = [
    whole === wanted,
    whole.startsWith(wanted),
    whole.split(/[^\p{L}\p{N}]/u).some(word => word.startsWith(wanted)),
    whole.includes(wanted),
    hasInOrder(whole, wanted)
  ];
  const rank = fits.indexOf(true);
  return rank === -1 ? undefined : rank;
}

/** Return the commands with the best names first. The others, which the server found by their descriptions, follow. */
export function sortCommands<T extends Named>(commands: readonly T[], typed: string): readonly T[] {
  const ranked = commands.map(command => [rankName(command.key, typed) ?? Infinity, command] as const);
  return ranked.sort(([one], [other]) => (one === other ? 0 : one - other)).map(([, command]) => command);
}

/** Return the commands of an earlier list that still fit what is typed. */
export function narrowCommands<T extends Named>(commands: readonly T[], typed: string): readonly T[] {
  return sortCommands(
    commands.filter(({ key }) => rankName(key, typed) !== undefined),
    typed
  );
}

function hasInOrder(text: string, letters: string): boolean {
  let at = 0;
  for (const letter of letters) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) {
      return false;
    }
  }
  return true;
}
