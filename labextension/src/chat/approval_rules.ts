/**
 * Adds approval rules from a waiting tool call: proposes a rule, writes it, and removes it again.
 *
 * The server writes the files. This module knows no view: what the user sees is in `view/tools/RuleProposal.tsx`.
 */

import { ApprovalsProposeResult, ChatId, RulePlace, RuleText } from '../wire/protocol';
import type { Session } from './session';

export interface WrittenRule {
  readonly rule: RuleText;
  /** The path of the configuration file in which the rule stands. */
  readonly file: string;
}

export class ApprovalRules {
  private written: Readonly<Record<string, WrittenRule>> = {};
  private readonly subscribers = new Set<() => void>();

  constructor(private readonly session: () => Session) {}

  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.subscribers.add(subscriber);
    return () => this.subscribers.delete(subscriber);
  };

  /** The rules that were written, by the ids of their tool calls. */
  readonly current = (): Readonly<Record<string, WrittenRule>> => this.written;

  /** Ask the server for a rule that would allow calls like this one. Throws: LinkError, RpcError. */
  propose(toolCallId: string): Promise<ApprovalsProposeResult> {
    return this.session().request('approvals/propose', { chatId: this.findChat(toolCallId), toolCallId });
  }

  /**
   * Write the rule to the file of the scope, and approve the call. All other waiting calls that the rule matches run,
   * too.
   *
   * Throws: LinkError, RpcError.
   */
  async write(toolCallId: string, rule: RuleText, scope: RulePlace['scope']): Promise<void> {
    const session = this.session();
    const chatId = this.findChat(toolCallId);
    const { file } = await session.request('approvals/add', { ...rule, scope });
    this.setWritten({ ...this.written, [toolCallId]: { rule, file } });
    session.approve(toolCallId, false, chatId);
  }

  /** Remove the rule that was written for a call. The call itself is not undone. */
  async undo(toolCallId: string): Promise<void> {
    const entry = this.written[toolCallId];
    if (entry !== undefined && (await this.session().ask('approvals/remove', entry.rule)) !== undefined) {
      this.setWritten(Object.fromEntries(Object.entries(this.written).filter(([id]) => id !== toolCallId)));
    }
  }

  private setWritten(written: Readonly<Record<string, WrittenRule>>): void {
    this.written = written;
    this.subscribers.forEach(subscriber => {
      subscriber();
    });
  }

  /** Return the chat that a call belongs to: a subagent's call is shown in its parent's chat, but has its own chat. */
  private findChat(toolCallId: string): ChatId {
    const { chat } = this.session();
    const within = Object.entries(chat.agents ?? {}).find(([, { blocks }]) =>
      blocks.some(block => block.kind === 'tool' && block.id === toolCallId)
    );
    return within?.[0] ?? chat.id;
  }
}
