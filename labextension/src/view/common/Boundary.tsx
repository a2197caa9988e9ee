/**
 * Catches the error of a view that cannot be drawn, so that the rest of the panel stays.
 *
 * This module knows no view: the component that uses it passes the text that is shown in place of the broken view.
 */

import * as React from 'react';

import { createElement } from './element';

interface Props {
  /** The text that is shown in place of the broken view. */
  readonly fallback: string;
  readonly children: React.ReactNode;
}

/** An error boundary, as React calls it. To draw a broken view again, the caller gives the boundary another `key`. */
export class Boundary extends React.Component<Props, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidCatch(error: unknown): void {
    console.error('ECA: a view failed', error);
  }

  override render(): React.ReactNode {
    return this.state.failed ? <p className="eca-Note">{this.props.fallback}</p> : this.props.children;
  }
}
