/**
 * Requests suggestions for what is typed into the prompt box, and shows them as a list above the box. The keyboard
 * controls the list while the box keeps the focus.
 *
 * This module knows no session: the function `query` returns the suggestions. `chat/completion_trigger.ts` finds what
 * triggers them.
 */

import * as React from 'react';

import { narrowCommands } from '../../chat/command_names';
import { Suggestion } from '../../chat/suggestions';
import { Trigger, findTrigger } from '../../chat/completion_trigger';
import { useEnv } from '../common/env';
import { Icon, IconName } from '../common/Icon';

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
  error: 'alert',
  native: 'command',
  mcpPrompt: 'command',
  customPrompt: 'command',
  skill: 'command'
};

export function getKindIcon(kind: string): IconName {
  return ICONS[kind] ?? 'dot';
}

/** The pause in typing after which suggestions are requested. */
const PAUSE_MS = 60;

/** A list of suggestions that is shown. */
export interface Completing {
  readonly trigger: Trigger;
  /** The suggestions; undefined until the first answer has come, null when the request failed. */
  readonly offers: readonly Suggestion[] | null | undefined;
  /** The index of the suggestion that the keyboard would choose. */
  readonly active: number;
}

interface Completer {
  readonly completing: Completing | undefined;
  /** Moves the active suggestion by this many lines. */
  readonly move: (by: number) => void;
  /** Closes the list until another trigger is typed. */
  readonly close: () => void;
}

/** Return the list of suggestions for the text at the cursor. `query` throws when the request fails. */
export function useCompletion(
  text: string,
  cursor: number,
  query: (trigger: Trigger) => Promise<readonly Suggestion[]>
): Completer {
  const found = React.useMemo(() => findTrigger(text, cursor), [text, cursor]);
  const { kind, start, query: word } = found ?? {};
  const [answer, setAnswer] = React.useState<Answer>();
  const [active, setActive] = React.useState(0);
  const [closed, setClosed] = React.useState<string>();
  const place = found === undefined ? '' : `${found.kind}${String(start)}`;
  React.useEffect(() => {
    if (kind === undefined || start === undefined || word === undefined) {
      setAnswer(undefined);
      return;
    }
    let current = true;
    const timer = window.setTimeout(() => {
      query({ kind, start, query: word }).then(
        offers => {
          if (current) {
            setAnswer({ word, offers });
            setActive(0);
          }
        },
        () => {
          if (current) {
            setAnswer({ word, offers: null });
          }
        }
      );
    }, PAUSE_MS);
    return () => {
      current = false;
      window.clearTimeout(timer);
    };
  }, [kind, start, word, query]);
  const offers = React.useMemo(() => listFitting(answer, kind, word), [answer, kind, word]);
  const size = offers?.length ?? 0;
  return {
    completing:
      found === undefined || closed === place
        ? undefined
        : { trigger: found, offers, active: Math.min(active, Math.max(0, size - 1)) },
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
  readonly offers: readonly Suggestion[] | null;
}

/**
 * Return the suggestions of the last answer that are shown. If the answer is a list of commands for an earlier text,
 * these are only the commands that match what is typed now.
 */
function listFitting(
  answer: Answer | undefined,
  kind: Trigger['kind'] | undefined,
  word: string | undefined
): readonly Suggestion[] | null | undefined {
  if (answer?.offers == null || kind !== '/' || word === undefined || answer.word === word) {
    return answer?.offers;
  }
  return narrowCommands(answer.offers, word);
}

interface Props {
  readonly id: string;
  readonly completing: Completing;
  /** Called with the suggestion that the user chooses. */
  readonly onTake: (offer: Suggestion) => void;
}

export function Completion({ id, completing, onTake }: Props): React.ReactElement | null {
  const { trans } = useEnv();
  const { offers, active } = completing;
  const list = React.useRef<HTMLUListElement>(null);
  React.useLayoutEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' });
  }, [active, offers]);
  if (offers === undefined) {
    return null;
  }
  if (offers === null || offers.length === 0) {
    return (
      <p className="eca-Completion eca-Note">
        {offers === null ? trans.__('The server has no suggestions for this.') : trans.__('Nothing found.')}
      </p>
    );
  }
  return (
    <ul className="eca-Completion" id={id} role="listbox" aria-label={trans.__('Completions')} ref={list}>
      {offers.map((offer, index) => (
        <li
          key={offer.key}
          id={`${id}-${String(index)}`}
          role="option"
          aria-selected={index === active}
          // The prompt box keeps the focus.
          onMouseDown={event => {
            event.preventDefault();
            onTake(offer);
          }}
        >
          <Icon name={getKindIcon(offer.kind)} />
          <span className="eca-Completion-label">{offer.label}</span>
          <span className="eca-Completion-detail">{offer.detail}</span>
        </li>
      ))}
    </ul>
  );
}
