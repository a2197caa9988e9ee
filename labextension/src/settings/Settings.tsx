/**
 * Draws the settings of the assistant: the list of sections, and the section that the user has chosen.
 *
 * This module stores no setting: the server stores them, and sends them again when they change. Each section has a
 * module of its own in this folder.
 */

import * as React from 'react';

import { Session } from '../chat/session';
import { Boundary } from '../view/common/Boundary';
import { createElement } from '../view/common/element';
import { Agents } from './Agents';
import { Costs } from './Costs';
import { Defaults } from './Defaults';
import { useEnv } from '../view/common/env';
import { Icon, IconName } from '../view/common/Icon';
import { Jobs } from './Jobs';
import { useFocusRestoration } from '../view/common/focus_restoration';
import { Messages } from '../view/common/Messages';
import { Providers } from './Providers';
import { Report } from './Report';
import { Rules } from './Rules';
import { Servers } from './Servers';
import { Skills } from './Skills';

/** The names of the sections, in the order in which they are listed. */
const SECTIONS = ['defaults', 'servers', 'providers', 'rules', 'agents', 'skills', 'jobs', 'costs', 'report'] as const;
/** The name of a section. */
export type Section = (typeof SECTIONS)[number];

/** Whether a name is that of a section. */
export function isSection(name: string): name is Section {
  return (SECTIONS as readonly string[]).includes(name);
}

/** The icons of the sections in the list. */
const ICONS: Readonly<Record<Section, IconName>> = {
  defaults: 'gear',
  servers: 'tool',
  providers: 'link',
  rules: 'check',
  agents: 'bulb',
  skills: 'book',
  jobs: 'retry',
  costs: 'bars',
  report: 'question'
};

interface Props {
  readonly session: Session;
  /** The section that is shown. */
  readonly section: Section;
  /** Called with the section that the user chooses. */
  readonly onChooseSection: (section: Section) => void;
  /** Opens a new chat with an agent. */
  readonly onTryAgent: (agent: string) => void;
  /** Leads back to the chat; undefined where the chat is beside the settings. */
  readonly onBack: (() => void) | undefined;
}

/** Draws the settings. The arrow keys go through the list of sections. */
export function Settings({ session, section, onChooseSection, onTryAgent, onBack }: Props): React.ReactElement {
  const { trans } = useEnv();
  const { connection, messages } = React.useSyncExternalStore(session.subscribe, () => session.state);
  const names: Readonly<Record<Section, string>> = {
    defaults: trans.__('Models and budget'),
    servers: trans.__('MCP servers and tools'),
    providers: trans.__('Providers and keys'),
    rules: trans.__('Approval rules'),
    agents: trans.__('Agents'),
    skills: trans.__('Skills'),
    jobs: trans.__('Background jobs'),
    costs: trans.__('Cost'),
    report: trans.__('Doctor')
  };
  const id = React.useId();
  const frame = React.useRef<HTMLDivElement>(null);
  useFocusRestoration(frame);
  return (
    <div ref={frame} className="eca-Settings">
      <div
        className="eca-Settings-nav"
        role="tablist"
        aria-orientation="vertical"
        aria-label={trans.__('Settings of the assistant')}
        onKeyDown={event => {
          const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
          const next = SECTIONS[(SECTIONS.indexOf(section) + step + SECTIONS.length) % SECTIONS.length];
          if (step !== 0 && next !== undefined) {
            event.preventDefault();
            onChooseSection(next);
            document.getElementById(`${id}-${next}`)?.focus();
          }
        }}
      >
        {SECTIONS.map(name => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            aria-selected={name === section}
            aria-controls={id}
            tabIndex={name === section ? 0 : -1}
            onClick={() => {
              onChooseSection(name);
            }}
          >
            <Icon name={ICONS[name]} />
            {names[name]}
          </button>
        ))}
      </div>
      <div className="eca-Settings-body" role="tabpanel" id={id} aria-labelledby={`${id}-${section}`} tabIndex={0}>
        {onBack && (
          <button type="button" className="eca-Link eca-Settings-back" onClick={onBack}>
            {trans.__('Back to the chat')}
          </button>
        )}
        <h1>{names[section]}</h1>
        <Messages session={session} messages={messages.filter(({ type }) => type !== 'info')} />
        {connection === 'open' ? (
          <Boundary fallback={trans.__('This could not be shown.')} key={section}>
            <SectionBody session={session} section={section} onTryAgent={onTryAgent} />
          </Boundary>
        ) : (
          <p className="eca-Note">{trans.__('The assistant is not connected.')}</p>
        )}
      </div>
    </div>
  );
}

/** Draws the content of one section. */
function SectionBody({
  session,
  section,
  onTryAgent
}: Pick<Props, 'session' | 'section' | 'onTryAgent'>): React.ReactElement {
  switch (section) {
    case 'defaults':
      return <Defaults session={session} />;
    case 'servers':
      return <Servers session={session} />;
    case 'providers':
      return <Providers session={session} />;
    case 'rules':
      return <Rules session={session} />;
    case 'agents':
      return <Agents session={session} onTry={onTryAgent} />;
    case 'skills':
      return <Skills session={session} />;
    case 'jobs':
      return <Jobs session={session} />;
    case 'costs':
      return <Costs session={session} />;
    case 'report':
      return (
        <Report fetchReport={async () => (await session.requestOrShowError('workspace/doctor', {}))?.text ?? ''} />
      );
  }
}
