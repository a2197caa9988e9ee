import { Link } from '../../src/wire/rpc';

class End implements Link {
  other!: End;
  private received?: (text: string) => void;
  private closed?: () => void;

  listen(received: (text: string) => void, closed: () => void): void {
    this.received = received;
    this.closed = closed;
  }

  /** In a later turn, as a socket does. */
  send(text: string): void {
    queueMicrotask(() => this.other.received?.(text));
  }

  close(): void {
    queueMicrotask(() => {
      this.closed?.();
      this.other.closed?.();
    });
  }
}

/** Two ends of one link in memory. */
export function createLinks(): [Link, Link] {
  const [left, right] = [new End(), new End()];
  left.other = right;
  right.other = left;
  return [left, right];
}
