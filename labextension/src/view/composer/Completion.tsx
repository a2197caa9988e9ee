/**
 * The list of suggestions above the prompt box, made for the keyboard first.
 *
 * Knows no session: the suggestions come from `query`. What triggers them is in `chat/completion_trigger.ts`.
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

export function kindIcon(kind: string): IconName {
  return ICONS[kind] ?? 'dot';
}

/** Suggestions are requested when the user has not typed for this time. */
const PAUSE_MS = 60;

export interface Completing {
  readonly trigger: Trigger;
  /** Undefined until the first answer has come; null when the server could not be asked. */
  readonly offers: readonly Suggestion[] | null | undefined;
  readonly active: number;
}

interface Completer {
  readonly completing: Completing | undefined;
  readonly move: (by: number) => void;
  readonly close: () => void;
}

/** `query` throws when the server cannot be asked. */
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

/** The server's answer to what was typed then. Null when it could not be asked. */
interface Answer {
  readonly word: string;
  readonly offers: readonly Suggestion[] | null;
}

/** Return what of the last answer is shown. Of an earlier letter's commands, only those that fit what is typed now. */
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
        {offers === null ? trans.__('This server offers nothing here yet.') : trans.__('Nothing found.')}
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
          <Icon name={kindIcon(offer.kind)} />
          <span className="eca-Completion-label">{offer.label}</span>
          <span className="eca-Completion-detail">{offer.detail}</span>
        </li>
      ))}
    </ul>
  );
}
