/** The ids of the commands that ask about a cell. Menus and shortcuts in schema/plugin.json use them. */
export const Command = { fix: 'eca:fix-cell', explain: 'eca:explain-cell' } as const;
