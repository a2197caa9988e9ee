/**
 * Draws icons in the colour of the text beside them, and buttons that show only an icon.
 *
 * The icon of the assistant in Lab's menus is in `assistant_icon.ts`.
 */

import * as React from 'react';

import { createElement } from './element';

/** An arrow that points upwards. */
const UP = 'M8 13V3.5M3.8 7.5 8 3.3l4.2 4.2';

/** The lines of each icon as the path of an SVG, in a square of 16 units. */
const PATHS = {
  add: 'M8 3v10M3 8h10',
  attach:
    'M12.8 7.3 7.9 12.200a2.900 2.900 0 0 1-4.100-4.100l5.300-5.300a1.900 1.900 0 0 1 2.700 2.700L6.600 10.700a.9.9 0 0 1-1.300-1.300l4.600-4.600',
  chats: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  back: 'M10 3 5 8l5 5',
  send: UP,
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3.2 8.6 3 3 6.6-7',
  cross: 'm4.2 4.2 7.6 7.6M11.8 4.2l-7.6 7.6',
  fold: 'm6 4 4 4-4 4',
  up: UP,
  down: 'M8 3v9.5M3.8 8.5 8 12.7l4.2-4.2',
  edit: 'M3 13l.6-2.8 7-7a1.1 1.1 0 0 1 1.6 0l.6.6a1.1 1.1 0 0 1 0 1.6l-7 7L3 13z',
  retry: 'M12.6 6.4A5 5 0 1 0 13 9M13 3v3.5H9.5',
  fork: 'M4.5 3v10M4.5 9c0-2.5 7-1.5 7-5M9.3 5.6 11.5 3.4l2.2 2.2',
  undo: 'M6 3.5 3 6.5l3 3M3.3 6.5H10a3 3 0 0 1 0 6H7',
  trash: 'M3 4.5h10M6.3 4.3V3h3.4v1.3M4.4 4.6l.6 8.4h6l.6-8.4',
  copy: 'M6 6h7v7H6zM10 6V3H3v7h3',
  insert: 'M3 3.5h10M3 6.5h10M8 9v4.5M5.8 11.4 8 13.6l2.2-2.2',
  replace: 'M3 5h8.5M9.2 2.7 11.6 5 9.2 7.3M13 11H4.5M6.8 8.7 4.4 11l2.4 2.3',
  save: 'M8 2.5v7.3M5 7l3 3 3-3M3 10.5v2.7h10v-2.7',
  queue: 'M3 4h10M3 8h6M3 12h6M12 7.5v5M9.8 10.3 12 12.5l2.2-2.2',
  file: 'M4 2.5h5L12 5.5v8H4zM8.8 2.7v3h3',
  folder: 'M2.5 4h4l1.2 1.5h5.8V12.5h-11z',
  image: 'M2.5 3.5h11v9h-11zM4 11l3-3.2 2.2 2 1.6-1.5L13 10.5',
  cell: 'M2.5 4h11v8h-11zM5 6.7 6.7 8 5 9.3M8 9.5h3',
  link: 'M6.7 9.3l2.6-2.6M7.2 5 9 3.3a2.6 2.6 0 0 1 3.7 3.7L11 8.8M8.8 11 7 12.7A2.6 2.6 0 0 1 3.3 9L5 7.2',
  tool: 'M9.8 3a3 3 0 0 0-.6 3.8L3.5 12.5M9.2 6.8a3 3 0 0 0 4-3.2l-1.8 1.6-1.4-1.2L11.6 2.6',
  command: 'M10 3 6 13',
  variable: 'M4.2 4.9c1.5-.8 2.3-.3 2.9 1.1l1.8 4.1c.6 1.4 1.4 1.8 2.9 1M11.6 4.6 4.4 11.5',
  bars: 'M3 13.2h10M5 10.7V8M8 10.7V3.5M11 10.7V6',
  table: 'M2.5 3.5h11v9h-11zM2.5 6.5h11M2.5 9.500h11M6.5 6.500v6',
  book: 'M8 4.5C6.5 3.3 4.5 3 2.5 3.2v9c2-.2 4 .1 5.5 1.3 1.5-1.2 3.5-1.5 5.5-1.3v-9c-2-.2-4 .1-5.5 1.3zM8 4.5v9',
  bulb: 'M6 12.5h4M6.5 14h3M5.8 10.5c-1-1-1.8-1.8-1.8-3.5a4 4 0 0 1 8 0c0 1.7-.8 2.5-1.8 3.5z',
  question: 'M6 6a2 2 0 1 1 2.7 1.9c-.5.2-.7.6-.7 1.3M8 11.5v.200',
  alert: 'M8 2.8 14 13H2zM8 6.5v3M8 11v.300',
  gear: 'M8 5.7a2.3 2.3 0 1 1 0 4.6 2.3 2.3 0 0 1 0-4.6zM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4',
  flag: 'M4 14V2.5M4 3h8l-2 2.7L12 8.5H4',
  thumbUp:
    'M5.2 7.2v6H2.8v-6zM5.2 7.2 7.9 2.5c1.3 0 1.9 1 1.6 2.1L9 6.5h3.2a1.2 1.2 0 0 1 1.2 1.5l-1 4.2a1.4 1.4 0 0 1-1.4 1H5.2',
  thumbDown:
    'M5.2 8.8v-6H2.8v6zM5.2 8.8 7.9 13.5c1.3 0 1.9-1 1.6-2.1L9 9.5h3.2a1.2 1.2 0 0 0 1.2-1.5l-1-4.2a1.4 1.4 0 0 0-1.4-1H5.2',
  pin: 'M6 2.5h4M6.7 2.7v4.2L4.8 9.5h6.4L9.3 6.9V2.7M8 9.5v4.5',
  dot: 'M8 6.5a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3z'
} as const;

/** The name of an icon, which is a key of `PATHS`. */
export type IconName = keyof typeof PATHS;

/** Draws an icon. It always stands beside a text or in a button with a name, so it is hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }): React.ReactElement {
  return (
    <svg className="eca-Icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.3"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  /** What the button does. It is its name for a screen reader, and its tooltip unless there is another one. */
  readonly label: string;
  /** A tooltip that says more than the label. */
  readonly tooltip?: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  /** Whether the setting that the button switches is on; undefined for a button that switches nothing. */
  readonly pressed?: boolean;
}

/** A button that shows only an icon. */
export function IconButton({
  icon,
  label,
  tooltip = label,
  onClick,
  disabled,
  pressed
}: IconButtonProps): React.ReactElement {
  return (
    <button
      type="button"
      className="eca-IconButton"
      title={tooltip}
      aria-label={label}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

/** The icon of *Stop*. It is filled, so that it is found quickly. */
export function StopIcon(): React.ReactElement {
  return (
    <svg className="eca-Icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" />
    </svg>
  );
}
