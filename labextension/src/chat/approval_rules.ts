/**
 * Makes an approval rule from a tool call that waits: proposes a rule, writes it, and removes it again. An approval
 * rule is an entry of the configuration that allows such calls without a question.
 *
 * The server writes the files. This module knows no view: what the user sees is in `view/tools/RuleProposal.tsx`.
 */

import { ApprovalsProposeResult, ChatId, RulePlace, RuleText } from '../wire/protocol';
import type { Session } from './session';

/** A rule that was written to a file, and can be removed again. */
export interface WrittenRule {
  readonly rule: RuleText;
  /** The path of the configuration file in which the rule stands. */
  readonly file: string;
}

/** Return the name of a tool call among the calls of all chats. Two chats may have calls with the same id. */
export function nameCall(chatId: ChatId, toolCallId: string): string {
  return `${String(chatId)} ${toolCallId}`;
}

/** The rules that were written in this page, since it was loaded. */
export class ApprovalRules {
  private written: Readonly<Record<string, WrittenRule>> = {};
  /** Called whenever `written` has changed. */
  private readonly subscribers = new Set<() => void>();

  /** `session` returns the session that requests are sent through. It may be created after this object. */
  constructor(private readonly session: () => Session) {}

  /** Call `subscriber` whenever a rule was written or removed. The returned function ends that. */
  readonly subscribe = (subscriber: () => void): (() => void) => {
    this.subscribers.add(subscriber);
    return () => this.subscribers.delete(subscriber);
  };

  /** The rules that were written, by the names of their tool calls: see `nameCall`. */
  readonly current = (): Readonly<Record<string, WrittenRule>> => this.written;

  /** Ask the server for a rule that would allow calls like this one. Throws: LinkError, RpcError. */
  propose(chatId: ChatId, toolCallId: string): Promise<ApprovalsProposeResult> {
    return this.session().request('approvals/propose', { chatId, toolCallId });
  }

  /**
   * Write the rule to the configuration file of the scope (the workspace or the user), and approve the call. The server
   * also runs all other waiting calls that the rule matches.
   *
   * Throws: LinkError, RpcError.
   */
  async write(chatId: ChatId, toolCallId: string, rule: RuleText, scope: RulePlace['scope']): Promise<void> {
    const session = this.session();
    const { file } = await session.request('approvals/add', { ...rule, scope });
    this.setWritten({ ...this.written, [nameCall(chatId, toolCallId)]: { rule, file } });
    session.approve(toolCallId, false, chatId);
  }

  /** Remove the rule that was written for a call. The call itself is not undone. */
  async undo(chatId: ChatId, toolCallId: string): Promise<void> {
    const name = nameCall(chatId, toolCallId);
    const entry = this.written[name];
    if (entry !== undefined && (await this.session().ask('approvals/remove', entry.rule)) !== undefined) {
      this.setWritten(Object.fromEntries(Object.entries(this.written).filter(([other]) => other !== name)));
    }
  }

  /** Replace the list of rules and call the subscribers. */
  private setWritten(written: Readonly<Record<string, WrittenRule>>): void {
    this.written = written;
    this.subscribers.forEach(subscriber => {
      subscriber();
    });
  }
}
