/**
 * Requests suggestions for what is typed into the prompt box, and shows them as a list above the box. The keyboard
 * controls the list while the box keeps the focus.
 *
 * This module knows no session: the function `query` returns the suggestions. `chat/completion_trigger.ts` finds what
 * triggers them.
 */

import * as React from 'react';

import { narrowCommands } from '../../chat/command_names';
import { Mention } from '../../mentions/mentions';
import { Suggestion } from '../../chat/suggestions';
import { Trigger, findTrigger } from '../../chat/completion_trigger';
import { useEnv } from '../common/env';
import { Icon, IconName } from '../common/Icon';

/** The icons of the kinds of contexts, files and commands. */
const ICONS: Readonly<Record<string, IconName>> = {
  file: 'file',
  directory: 'folder',
  image: 'image',
  web: 'link',
  mcpResource: 'link',
  cell: 'cell',
  output: 'cell',
  notebook: 'file',
  selection: 'edit',
  variable: 'variable',
  table: 'table',
  error: 'alert',
  native: 'command',
  mcpPrompt: 'command',
  customPrompt: 'command',
  skill: 'command'
};

/** Return the icon for a kind of context, file or command; a dot for an unknown kind. */
export function getKindIcon(kind: string): IconName {
  return ICONS[kind] ?? 'dot';
}

/** The pause in typing after which suggestions are requested. */
const PAUSE_MS = 60;

/** A list of suggestions that is shown. */
export interface SuggestionList {
  /** The sign that has opened the list, and what is typed after it. */
  readonly trigger: Trigger;
  /** The suggestions; undefined until the first answer has come, null when the request failed. */
  readonly suggestions: readonly Suggestion[] | null | undefined;
  /** The index of the suggestion that the keyboard would choose. */
  readonly active: number;
}

/** The list, and what the keys of the prompt box do with it. */
interface Completer {
  /** Undefined while the list is closed. */
  readonly list: SuggestionList | undefined;
  /** Moves the active suggestion by this many lines. */
  readonly move: (by: number) => void;
  /** Closes the list until another trigger is typed. */
  readonly close: () => void;
}

/**
 * Return the list of suggestions for the text at the cursor. The list is closed at a mention that was chosen already
 * (`mentions`). `query` requests the suggestions, and rejects when the request fails.
 */
export function useCompletion(
  text: string,
  cursor: number,
  mentions: readonly Mention[],
  query: (trigger: Trigger) => Promise<readonly Suggestion[]>
): Completer {
  const found = React.useMemo(() => {
    const trigger = findTrigger(text, cursor);
    return mentions.some(({ start }) => start === trigger?.start) ? undefined : trigger;
  }, [text, cursor, mentions]);
  const { kind, start, query: word } = found ?? {};
  const [answer, setAnswer] = React.useState<Answer>();
  const [active, setActive] = React.useState(0);
  /** The place of the trigger for which the user has closed the list. */
  const [closed, setClosed] = React.useState<string>();
  const place = found === undefined ? '' : `${found.kind}${String(start)}`;
  React.useEffect(() => {
    if (kind === undefined || start === undefined || word === undefined) {
      setAnswer(undefined);
      return;
    }
    let isWanted = true;
    const timer = window.setTimeout(() => {
      query({ kind, start, query: word }).then(
        suggestions => {
          if (isWanted) {
            setAnswer({ word, suggestions });
            setActive(0);
          }
        },
        () => {
          if (isWanted) {
            setAnswer({ word, suggestions: null });
          }
        }
      );
    }, PAUSE_MS);
    return () => {
      isWanted = false;
      window.clearTimeout(timer);
    };
  }, [kind, start, word, query]);
  const suggestions = React.useMemo(() => listMatchingSuggestions(answer, kind, word), [answer, kind, word]);
  const size = suggestions?.length ?? 0;
  return {
    list:
      found === undefined || closed === place
        ? undefined
        : { trigger: found, suggestions, active: Math.min(active, Math.max(0, size - 1)) },
    move: by => {
      setActive(size === 0 ? 0 : (Math.min(active, size - 1) + by + size) % size);
    },
    close: () => {
      setClosed(place);
    }
  };
}

/** The last answer of the server. */
interface Answer {
  /** What was typed when the suggestions were requested. */
  readonly word: string;
  /** The suggestions; null when the request failed. */
  readonly suggestions: readonly Suggestion[] | null;
}

/**
 * Return the suggestions of the last answer that are shown. If the answer is a list of commands for an earlier text,
 * these are only the commands that match what is typed now.
 */
function listMatchingSuggestions(
  answer: Answer | undefined,
  kind: Trigger['kind'] | undefined,
  word: string | undefined
): readonly Suggestion[] | null | undefined {
  if (answer?.suggestions == null || kind !== '/' || word === undefined || answer.word === word) {
    return answer?.suggestions;
  }
  return narrowCommands(answer.suggestions, word);
}

interface Props {
  /** The id of the list in the page, to which the prompt box refers for screen readers. */
  readonly id: string;
  readonly list: SuggestionList;
  /** Called with the suggestion that the user chooses. */
  readonly onTake: (suggestion: Suggestion) => void;
}

/** The open list, or a note when it is empty. Nothing while the first answer is awaited. */
export function Completion({ id, list, onTake }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const { suggestions, active } = list;
  const element = React.useRef<HTMLUListElement>(null);
  React.useLayoutEffect(() => {
    element.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active, suggestions]);
  if (suggestions === undefined) {
    return null;
  }
  if (suggestions === null || suggestions.length === 0) {
    return (
      <p className="eca-Completion eca-Note">
        {suggestions === null ? trans.__('The suggestions could not be loaded.') : trans.__('Nothing found.')}
      </p>
    );
  }
  return (
    <ul className="eca-Completion" id={id} role="listbox" aria-label={trans.__('Completions')} ref={element}>
      {suggestions.map((suggestion, index) => (
        <li
          key={suggestion.key}
          id={`${id}-${String(index)}`}
          role="option"
          aria-selected={index === active}
          // The prompt box keeps the focus.
          onMouseDown={event => {
            event.preventDefault();
            onTake(suggestion);
          }}
        >
          <Icon name={getKindIcon(suggestion.kind)} />
          <span className="eca-Completion-label">{suggestion.label}</span>
          <span className="eca-Completion-detail">{suggestion.detail}</span>
        </li>
      ))}
    </ul>
  );
}
