/**
 * The views show no word of ours that did not go through the translator.
 *
 * The data in this module consists of digits. What Lab draws around the views is checked in the browser
 * (`tests/e2e/browser/test_translation.py`).
 */

import * as React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { Block, ToolBlock, ToolStatus } from '../src/chat/blocks';
import { Session } from '../src/chat/session';
import { Chat, Connection, createChat, createState } from '../src/chat/state';
import { describeStatus } from '../src/chat/status_text';
import { Change } from '../src/chat/types';
import { ReviewBar } from '../src/review/ReviewBar';
import { CostTable } from '../src/settings/Costs';
import { DefaultList } from '../src/settings/Defaults';
import { JobCard } from '../src/settings/Jobs';
import { FileLink } from '../src/settings/FileLink';
import { SkillForm } from '../src/settings/SkillForm';
import { SkillCard } from '../src/settings/Skills';
import { AgentForm } from '../src/settings/AgentForm';
import { AgentCard } from '../src/settings/Agents';
import { TriedCalls } from '../src/settings/RuleTrial';
import { RuleEditor, RuleDescription } from '../src/settings/RuleEditor';
import { ProviderCard } from '../src/settings/Providers';
import { RuleList } from '../src/settings/Rules';
import { ServerCard } from '../src/settings/Server';
import { ServerForm } from '../src/settings/ServerForm';
import { describeForScreenReader } from '../src/view/announcement';
import { ChatList } from '../src/view/ChatList';
import { createElement } from '../src/view/common/element';
import { Chips } from '../src/view/composer/Chips';
import { Breakdown } from '../src/view/ContextMeter';
import { Env, EnvProvider } from '../src/view/common/env';
import { Export } from '../src/view/Export';
import { FirstSteps } from '../src/view/first_run/first_steps';
import { Step } from '../src/view/first_run/Login';
import { InstructionsEditor } from '../src/view/Instructions';
import { StatusLine } from '../src/view/StatusLine';
import { CarryOutButton, Plan } from '../src/view/tools/Plan';
import { RuleProposal } from '../src/view/tools/RuleProposal';
import { ToolDetails } from '../src/view/tools/ToolDetails';
import { BlockView } from '../src/view/transcript/BlockView';
import { Changes } from '../src/view/transcript/Changes';
import { PendingMessage } from '../src/view/transcript/PendingMessage';
import { Question } from '../src/view/transcript/Question';
import { TrustNotice } from '../src/view/TrustNotice';
import { Welcome } from '../src/view/Welcome';
import { FailureKind, ToolCallDetails, UsageContent } from '../src/wire/protocol';
import { findUntranslated, pseudo } from './support/pseudo';

test('a word that was not translated is found, also in an attribute, and a translated one is not', () => {
  expect(findUntranslated('<b title="⟦One⟧">⟦a ⟦b⟧ c⟧ 1.2 s</b><code>ls</code>')).toEqual([]);
  expect(findUntranslated('<b title="One">⟦a⟧ two</b>')).toEqual(['One', '⟦a⟧ two']);
});

const nothing = (): void => undefined;
const later = (): Promise<void> => Promise.resolve();
const env: Env = {
  trans: pseudo,
  markdown: later,
  openPath: nothing,
  showCell: nothing,
  openSettings: nothing,
  fetchWholeOutput: () => Promise.resolve('1'),
  flags: {} as NonNullable<Env['flags']>,
  approvalRules: { subscribe: () => nothing, current: () => ({}) } as unknown as NonNullable<Env['approvalRules']>
};

function check(view: React.ReactElement): readonly string[] {
  const html = renderToStaticMarkup(<EnvProvider value={env}>{view}</EnvProvider>);
  // The browser writes times in its own language.
  return findUntranslated(html.replace(/(<time[^>]*>)[^<]*/g, '$1'));
}

const user = { onEdit: nothing, onRetry: nothing, onFork: nothing, onRollBack: nothing };

function block(block: Block): React.ReactElement {
  const acts = { onApprove: nothing, onReject: nothing, onBackground: nothing, onAskAgain: nothing };
  return <BlockView chatId="1" block={block} isLast isIdle onChooseModel={nothing} {...acts} {...user} />;
}

const CALL: ToolBlock = {
  kind: 'tool',
  key: '1',
  id: '1',
  name: '1',
  server: '1',
  origin: 'mcp',
  status: 'waiting',
  argumentsText: '',
  outputs: [{ type: 'text', text: '1' }],
  remembers: ['1'],
  asked: true,
  cause: { kind: 'default' }
};
const DETAILS: readonly ToolCallDetails[] = [
  { type: 'fileChange', path: '1', diff: '@@ -1 +1 @@\n-1\n+2\n', linesAdded: 1, linesRemoved: 1 },
  { type: 'shellCommand', commands: [], background: true, line: '1', parsed: ['1', '2'] },
  { type: 'runCells', path: '1', cells: [{ number: 1, id: '1', source: '1' }] },
  { type: 'jsonOutputs', jsons: ['1'] }
];
const STATUSES: readonly ToolStatus[] = ['preparing', 'ready', 'running', 'done', 'failed', 'rejected', 'ended'];
const REASONS = [
  'user-config',
  'user-stop',
  'nobody-to-ask',
  'hook-rejected',
  'earlier-call-failed',
  'plan-mode'
] as const;

test('the cards of tool calls show no untranslated word', () => {
  const causes: readonly NonNullable<ToolBlock['cause']>[] = [
    { kind: 'rule', rule: '1', agent: '1' },
    { kind: 'protected', path: '1' },
    { kind: 'loads', loads: '1' },
    { kind: 'unparsed', rule: '1' },
    { kind: 'unseen', path: '1' },
    { kind: 'repository', path: '1' },
    { kind: 'review', rule: '1' },
    { kind: 'changed' },
    { kind: 'remembered' },
    { kind: 'trust', rule: '1' }
  ];
  const cards: readonly ToolBlock[] = [
    ...DETAILS.flatMap(details => [
      { ...CALL, details },
      { ...CALL, details, origin: 'native' as const }
    ]),
    ...STATUSES.map(status => ({ ...CALL, status, waitsFor: '1', ms: 0 })),
    ...REASONS.map(reason => ({ ...CALL, status: 'rejected' as const, reason })),
    ...causes.map(cause => ({ ...CALL, cause })),
    { ...CALL, status: 'running', progress: { text: '1', progress: 1, total: 2, background: true } },
    { ...CALL, wholeLength: 1_000_000, arguments: { 1: '1' } }
  ];
  expect(cards.flatMap(card => check(block(card)))).toEqual([]);
  expect(cards.flatMap(card => check(<ToolDetails block={card} hasTranscript={false} />))).toEqual([]);
});

test('the other parts of a chat show no untranslated word', () => {
  const kinds: readonly FailureKind[] = [
    ...(['overloaded', 'rate-limited', 'quota', 'context-overflow', 'auth', 'network'] as const),
    ...(['premature-end', 'invalid-image', 'unknown-model', 'no-model', 'budget', 'other', 'budget-exceeded'] as const)
  ];
  const blocks: readonly Block[] = [
    ...kinds.map(kind => ({ kind: 'failure' as const, key: '1', text: '1', failure: { kind, model: '1/2' } })),
    { kind: 'user', key: '1', text: '1', images: [], contentId: '1' },
    { kind: 'url', key: '1', title: '1', url: '1' },
    { kind: 'flag', key: '1', text: '1', contentId: '1' },
    { kind: 'text', key: '1', text: '1' }
  ];
  expect(blocks.flatMap(one => check(block(one)))).toEqual([]);
  const question = { key: 1, chatId: '1', question: '1', options: [{ label: '1' }], allowFreeform: true };
  const task = { id: '1', subject: '1', status: 'done' } as const;
  const summary = { done: 1, inProgress: 0, pending: 0, total: 1 };
  const held = { folder: '1', digest: '1', summary: '1', settings: [] };
  const instructions = { path: '1', name: '1', text: '1', trusted: false };
  const counts = { madeCount: 1, proposedCount: 1, leftOutCount: 1, shownNumber: undefined, busy: true };
  const views = [
    <Question question={question} onAnswer={nothing} />,
    <Plan details={{ type: 'task', tasks: [task], inProgressTaskIds: [], summary }} />,
    <CarryOutButton onCarryOut={nothing} />,
    <PendingMessage text="1" contexts={[]} waitsFor="1" onTakeBack={nothing} />,
    <Export onChoose={nothing} />,
    <InstructionsEditor instructions={instructions} onSave={nothing} />,
    <TrustNotice untrusted={{ folders: [held], canTrust: true }} onTrust={later} />,
    <TrustNotice untrusted={{ folders: [held], canTrust: false }} onTrust={later} />,
    <Chips
      place={{ label: '1', detail: '1', content: '1' }}
      sendsPlace
      onSendsPlaceChange={nothing}
      contexts={[{ type: 'file', path: '1' }]}
      onRemove={nothing}
    />,
    <ReviewBar counts={counts} trans={pseudo} goTo={nothing} keepAll={nothing} undoAll={nothing} />,
    <ReviewBar
      counts={{ ...counts, shownNumber: 1 }}
      trans={pseudo}
      goTo={nothing}
      keepAll={nothing}
      undoAll={nothing}
    />
  ];
  expect(views.flatMap(check)).toEqual([]);
});

test('changes, the status line and the list of chats show no untranslated word', () => {
  const change = (kind: Exclude<Change['kind'], 'created'>): Change => ({
    id: kind,
    number: 1,
    turn: '1',
    path: '1',
    type: 'cell',
    kind,
    cellId: '1',
    cellType: 'code',
    place: 2,
    placeBefore: 1,
    refused: '1'
  });
  const kinds = ['inserted', 'edited', 'deleted', 'moved'] as const;
  const usage: UsageContent = {
    type: 'usage',
    sessionTokens: 1,
    messageInputTokens: 1,
    messageOutputTokens: 1,
    lastMessageCost: '1',
    limit: { context: 10, output: 10 }
  };
  const lines = (['connecting', 'open', 'lost', 'absent', 'signed-out', 'stopped'] as readonly Connection[]).map(
    connection => (
      <StatusLine
        key={connection}
        connection={connection}
        usage={usage}
        onReconnect={nothing}
        onReload={nothing}
        onCompact={nothing}
        estimate={() => Promise.resolve(undefined)}
      />
    )
  );
  const row = { id: '1', title: '1', status: 'idle', createdAt: 0, updatedAt: 0, current: false };
  const list = (
    <ChatList
      chats={
        [row, { ...row, id: '2', waiting: true, status: 'running' }] as unknown as Parameters<
          typeof ChatList
        >[0]['chats']
      }
      currentChat="1"
      activeNotebook={undefined}
      onSearch={() => Promise.resolve(new Map())}
      onOpen={nothing}
      onRename={nothing}
      onDelete={nothing}
    />
  );
  const names = ['System prompt', 'Tools', 'Files', 'Messages', 'Tool results'];
  const categories = names.map(name => ({ name, tokens: 1, color: '', emoji: '' }));
  const views = [
    <Changes changes={kinds.map(change)} busy={false} startsOpen onKeep={later} onUndo={later} />,
    ...lines,
    <Breakdown breakdown={{ categories, usedTokens: 1, freeTokens: 1, contextLimit: 2 }} />
  ];
  expect(views.flatMap(check)).toEqual([]);
  // The date is written as the browser's language has it.
  expect(check(list).filter(text => !/^\p{L}+ \d+$|^\d+ \p{L}+$/u.test(text))).toEqual([]);
});

test('the first steps show no untranslated word', () => {
  const session = new Session({
    open: () => Promise.reject(new Error()),
    createId: () => '1',
    callLater: () => nothing
  });
  const bundled = { model: '1/2', installed: false, size: 126_700_000, commands: ['1'] };
  const provider = { id: '1', configured: false, auth: { status: 'not-running' }, models: [], bundled } as const;
  const welcome = (models: readonly string[], hasModelList = true): React.ReactElement => (
    <Welcome
      needsModel
      hasModelList={hasModelList}
      models={models}
      providers={[provider]}
      chatCount={0}
      steps={new FirstSteps(session)}
      errors={[]}
      welcome=""
      onInsertQuestion={nothing}
      onChooseModel={nothing}
    />
  );
  expect([welcome([]), welcome(['1/2', '3/4']), welcome([], false)].flatMap(check)).toEqual([]);
});

test('the settings show no untranslated word', () => {
  const acts = { onStart: nothing, onStop: nothing, onEnable: nothing, onDisable: nothing, onSignIn: nothing };
  const more = { onSignOut: nothing, onEdit: nothing, onRemove: later, onSwitch: later };
  const tool = { name: '1', description: '1', parameters: {}, disabled: false };
  const statuses = ['running', 'starting', 'stopped', 'failed', 'disabled', 'requires-auth'] as const;
  const servers = statuses.map(status => (
    <ServerCard
      key={status}
      server={{ type: 'mcp', name: '1', status, tools: [tool], hasAuth: true, error: '1' }}
      readLog={() => Promise.resolve([])}
      {...acts}
      {...more}
    />
  ));
  const auths = [
    { status: 'authenticated', source: 'env', envVar: '1' },
    { status: 'authenticated', source: 'login' },
    { status: 'unauthenticated' },
    { status: 'not-running' },
    { status: 'expired' }
  ] as const;
  const providers = auths.map((auth, key) => (
    <ProviderCard
      key={key}
      provider={{ id: '1', configured: true, auth, login: { methods: [] }, models: ['1'] as never }}
      onSignIn={nothing}
      onSignOut={nothing}
      trial={undefined}
      onTry={nothing}
    >
      {false}
    </ProviderCard>
  ));
  const rules = (['allow', 'ask', 'deny'] as const).flatMap(decision => [
    { decision, rule: '1', files: [], builtIn: true, own: false, agent: '1' },
    { decision, rule: '2', files: ['1'], builtIn: false, own: true }
  ]);
  const modes = ['primary', 'subagent', 'both', 'primary', 'primary'] as const;
  const agents = (['builtIn', 'user', 'project', 'configuration', 'outside'] as const).map((origin, index) => ({
    name: '1',
    origin,
    mode: modes[index] ?? 'primary',
    description: '1',
    disabledTools: [],
    files: ['1'],
    digest: '1',
    heldBack: index === 2,
    ...(index === 1 && { error: '1' })
  }));
  const skills = (['builtIn', 'user', 'project', 'configuration'] as const).map((origin, index) => ({
    name: '1',
    origin,
    description: '1',
    file: '1',
    digest: '1',
    isOverridden: index === 2,
    ...(index === 1 && { error: '1' })
  }));
  const cost = { requests: 1, inputTokens: 1, cachedTokens: 1, outputTokens: 1, cost: 1, unpriced: 1 };
  const job = { id: '1', type: 'shell', label: '1', summary: '1', startedAt: '', elapsed: '1s' } as const;
  const named = ['defaultModel', 'defaultAgent', 'budget.perDay', 'budget.perChat', 'review'] as const;
  const defaults = named.map(name => ({ name, choices: [], own: true }));
  const views = [
    ...servers,
    ...providers,
    <RuleList rulesResult={{ rules, byDefault: 'ask' }} onEdit={nothing} onRemove={later} />,
    ...agents.map(agent => (
      <AgentCard key={agent.origin} agent={agent} onTry={nothing} onEdit={nothing} onDelete={later} />
    )),
    <FileLink file="1" />,
    ...skills.map(skill => (
      <SkillCard
        key={skill.origin}
        skill={skill}
        readPreview={() => Promise.resolve(undefined)}
        onEdit={nothing}
        onDelete={later}
      />
    )),
    <SkillForm onSubmit={() => Promise.resolve('')} onCancel={nothing} />,
    <SkillForm {...(skills[0] && { old: skills[0] })} onSubmit={() => Promise.resolve('')} onCancel={nothing} />,
    <AgentForm models={[]} tools={[]} onSubmit={() => Promise.resolve('')} onCancel={nothing} />,
    <RuleEditor
      rules={rules}
      tools={{}}
      onTry={() => Promise.resolve({ calls: [] })}
      onSubmit={() => Promise.resolve('')}
      onCancel={nothing}
    />,
    <TriedCalls result={{ calls: [] }} />,
    <TriedCalls
      result={{
        calls: (['unasked', 'approved', 'rejected', 'forbidden', 'notRun', 'open'] as const).map(happened => ({
          chatId: '1',
          toolCallId: happened,
          name: '1',
          at: 1,
          selected: true,
          decision: 'ask',
          cause: { kind: 'rule', rule: '1', notebook: '1' },
          happened
        }))
      }}
    />,
    <RuleEditor
      notebook="1"
      old={{
        decision: 'alwaysAsk',
        rule: '1',
        argsMatchers: { 1: ['1', '2'] },
        files: ['1'],
        builtIn: false,
        own: true
      }}
      rules={rules}
      tools={{}}
      onTry={() => Promise.resolve({ calls: [] })}
      onSubmit={() => Promise.resolve('')}
      onCancel={nothing}
    />,
    ...(['allow', 'ask', 'deny'] as const).map(decision => (
      <RuleDescription key={decision} rule={{ decision, rule: '1' }} />
    )),
    <RuleProposal
      proposal={{ rule: { decision: 'allow', rule: '1' }, places: [{ scope: 'notebook', file: '1' }] }}
      error=""
      busy={false}
      heading="1"
      onWrite={nothing}
      onBack={nothing}
    />,
    <Step
      step={{ action: 'authorize', url: '1', fields: [{ key: '1', label: '1', type: 'secret' }] }}
      onMethod={nothing}
      onEnter={nothing}
    />,
    <ServerForm onSubmit={() => Promise.resolve('')} onCancel={nothing} />,
    <CostTable costs={{ message: cost, chat: cost, today: cost, notebook: cost, path: '1' }} title="" />,
    ...(['running', 'completed', 'failed', 'killed'] as const).map(status => (
      <JobCard key={status} job={{ ...job, status }} readOutput={() => Promise.resolve(undefined)} onKill={nothing} />
    )),
    <DefaultList defaultsResult={{ file: '1', defaults }} models={['1']} onSave={() => Promise.resolve(true)} />
  ];
  expect(views.flatMap(check)).toEqual([]);
});

test('the status bar and the line for a screen reader show no untranslated word', () => {
  const state = { ...createState('1'), connection: 'open', configured: true } as const;
  const chats: readonly Chat[] = [
    createChat('1'),
    { ...createChat('1'), status: 'running' },
    { ...createChat('1'), status: 'running', blocks: [CALL] },
    { ...createChat('1'), hasProposedPlan: true },
    { ...createChat('1'), blocks: [CALL] }
  ];
  for (const chat of chats) {
    const lines = [describeStatus(state, chat, pseudo), describeForScreenReader(state, chat, pseudo)];
    expect(lines.flatMap(findUntranslated)).toEqual([]);
  }
});
