/**
 * Requests suggestions for what is typed into the prompt box, and shows them as a list above the box. The keyboard
 * controls the list while the box keeps the focus.
 *
 * This module knows no session: the function `query` returns the suggestions. `mentions/completion_trigger.ts` finds
 * the sign in the text (`@`, `/` or `#`) that triggers them.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { narrowCommands } from '../../chat/command_names';
import { Mention } from '../../mentions/mentions';
import { Suggestion, Suggestions } from '../../chat/suggestions';
import { Trigger, findTrigger } from '../../mentions/completion_trigger';
import { createElement } from '../common/element';
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
  mcpPrompt: 'tool',
  customPrompt: 'file',
  skill: 'bulb'
};

/** Return the icon for a kind of context, file or command; a dot for an unknown kind. */
export function getKindIcon(kind: string): IconName {
  return ICONS[kind] ?? 'dot';
}

/** The pause in typing, in milliseconds, after which suggestions are requested. */
const PAUSE_MS = 60;

/** The pause, in milliseconds, after which suggestions are requested again because variables are missing. */
const RETRY_MS = 1000;

/** A list of suggestions that is shown. */
export interface SuggestionList {
  /** The sign that has opened the list, and what is typed after it. */
  readonly trigger: Trigger;
  /** The suggestions; undefined until the first answer has come, null when the request failed. */
  readonly suggestions: readonly Suggestion[] | null | undefined;
  /** Whether variables are missing, because the kernel is busy. */
  readonly lacksVariables: boolean;
  /** The index of the suggestion that the keyboard would choose. */
  readonly activeIndex: number;
}

/** The list, and the functions that the keys of the prompt box call. */
interface Completer {
  /** Undefined while the list is closed. */
  readonly list: SuggestionList | undefined;
  /** Moves the active suggestion by this many lines. */
  readonly move: (lines: number) => void;
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
  query: (trigger: Trigger) => Promise<Suggestions>
): Completer {
  const currentTrigger = React.useMemo(() => {
    const trigger = findTrigger(text, cursor);
    return mentions.some(({ start }) => start === trigger?.start) ? undefined : trigger;
  }, [text, cursor, mentions]);
  const { kind, start, query: word } = currentTrigger ?? {};
  const [answer, setAnswer] = React.useState<Answer>();
  const [activeIndex, setActiveIndex] = React.useState(0);
  /** The id of the trigger for which the user has closed the list: see `triggerId` below. */
  const [closedTriggerId, setClosedTriggerId] = React.useState<string>();
  const triggerId = currentTrigger === undefined ? '' : `${currentTrigger.kind}${String(start)}`;
  React.useEffect(() => {
    if (kind === undefined || start === undefined || word === undefined) {
      setAnswer(undefined);
      return;
    }
    let isWanted = true;
    let timer = 0;
    // `isFirst`: whether this is the first request for the text, and not a repetition because variables were missing.
    const request = (isFirst: boolean): void => {
      query({ kind, start, query: word }).then(
        ({ items, lacksVariables }) => {
          if (isWanted) {
            setAnswer({ word, suggestions: items, lacksVariables });
            setActiveIndex(before => (isFirst ? 0 : before));
            timer = lacksVariables ? window.setTimeout(request, RETRY_MS, false) : 0;
          }
        },
        () => {
          if (isWanted) {
            setAnswer({ word, suggestions: null, lacksVariables: false });
          }
        }
      );
    };
    timer = window.setTimeout(request, PAUSE_MS, true);
    return () => {
      isWanted = false;
      window.clearTimeout(timer);
    };
  }, [kind, start, word, query]);
  const suggestions = React.useMemo(() => listMatchingSuggestions(answer, kind, word), [answer, kind, word]);
  const suggestionCount = suggestions?.length ?? 0;
  return {
    list:
      currentTrigger === undefined || closedTriggerId === triggerId
        ? undefined
        : {
            trigger: currentTrigger,
            suggestions,
            lacksVariables: answer?.lacksVariables === true,
            activeIndex: Math.min(activeIndex, Math.max(0, suggestionCount - 1))
          },
    move: lines => {
      setActiveIndex(
        suggestionCount === 0
          ? 0
          : (Math.min(activeIndex, suggestionCount - 1) + lines + suggestionCount) % suggestionCount
      );
    },
    close: () => {
      setClosedTriggerId(triggerId);
    }
  };
}

/** The last answer of the server. */
interface Answer {
  /** What was typed when the suggestions were requested. */
  readonly word: string;
  /** The suggestions; null when the request failed. */
  readonly suggestions: readonly Suggestion[] | null;
  /** Whether variables are missing, because the kernel is busy. */
  readonly lacksVariables: boolean;
}

/**
 * Return the suggestions of the last answer that are shown: undefined if there is no answer yet, null if the request
 * failed. If the answer is a list of commands for an earlier text, only the commands are shown that match what is typed
 * now (`word`).
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

/** Return a sentence that says why variables are missing. */
function describeMissingVariables(trans: TranslationBundle): string {
  return trans.__('The kernel is busy: its variables are listed when it is free.');
}

interface Props {
  /** The id of the list in the page, to which the prompt box refers for screen readers. */
  readonly id: string;
  readonly list: SuggestionList;
  /** Called with the suggestion that the user chooses. */
  readonly onChoose: (suggestion: Suggestion) => void;
}

/** Draws the open list, or a note when it is empty. Draws nothing until the first answer has come. */
export function Completion({ id, list, onChoose }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const { suggestions, lacksVariables, activeIndex, trigger } = list;
  const element = React.useRef<HTMLUListElement>(null);
  const groupNames = { common: trans.__('Often used'), own: trans.__('Added commands'), more: trans.__('More') };
  React.useLayoutEffect(() => {
    // The heading of a group is above its first line, and comes into view with it.
    const line = element.current?.querySelectorAll('[role=option]')[activeIndex];
    (activeIndex === 0 ? element.current?.firstElementChild : line)?.scrollIntoView({ block: 'nearest' });
  }, [activeIndex, suggestions]);
  if (suggestions === undefined) {
    return null;
  }
  if (suggestions === null || suggestions.length === 0) {
    const note =
      suggestions === null
        ? trans.__('The suggestions could not be loaded.')
        : lacksVariables
          ? describeMissingVariables(trans)
          : trans.__('Nothing found.');
    return <p className="eca-Completion eca-Note">{note}</p>;
  }
  return (
    <ul className="eca-Completion" id={id} role="listbox" aria-label={trans.__('Completions')} ref={element}>
      {suggestions.map((suggestion, index) => {
        const detail = suggestion.kind === 'repoMap' ? trans.__('the names of all files') : suggestion.detail;
        // Commands are grouped only as long as nothing is typed. After that, the best match comes first.
        const { group } = trigger.query === '' ? suggestion : {};
        return (
          <React.Fragment key={suggestion.key}>
            {group !== undefined && group !== suggestions[index - 1]?.group && (
              <li className="eca-Completion-group" role="presentation">
                {groupNames[group]}
              </li>
            )}
            <li
              id={`${id}-${String(index)}`}
              className={trigger.kind === '/' ? 'eca-mod-command' : undefined}
              role="option"
              aria-selected={index === activeIndex}
              title={detail}
              // The prompt box keeps the focus.
              onMouseDown={event => {
                event.preventDefault();
                onChoose(suggestion);
              }}
            >
              <Icon name={getKindIcon(suggestion.kind)} />
              <span className="eca-Completion-label">{suggestion.label}</span>
              <span className="eca-Completion-detail">{detail}</span>
            </li>
          </React.Fragment>
        );
      })}
      {lacksVariables && (
        <li className="eca-Note" role="presentation">
          {describeMissingVariables(trans)}
        </li>
      )}
    </ul>
  );
}
