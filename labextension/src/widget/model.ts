/**
 * The parts of anywidget's front-end interface that the widgets use; see anywidget's documentation of front-end
 * modules.
 *
 * The widgets are `index.tsx` and `card.tsx`.
 */

import type { Typesetter } from './markdown';

export interface WidgetModel {
  get(name: string): unknown;
  send(content: unknown): void;
  on(event: string, callback: (...args: never[]) => void): void;
  off(event: string, callback: (...args: never[]) => void): void;
}

/** A model of ipywidgets, as far as it leads to the page's own parts. Front ends other than Lab and Voilà have fewer. */
interface ManagedModel {
  readonly widget_manager?: { readonly rendermime?: { readonly latexTypesetter?: Typesetter | null } };
}

/**
 * Return what draws formulas in this page. anywidget hides the manager of its own model, but not that of the layout, which
 * every widget has.
 */
export function findTypesetter(model: WidgetModel): Typesetter | undefined {
  const layout = model.get('layout') as ManagedModel | undefined;
  return layout?.widget_manager?.rendermime?.latexTypesetter ?? undefined;
}

export interface WidgetView {
  readonly model: WidgetModel;
  readonly el: HTMLElement;
}

/** Both functions return one that ends what they began. */
export interface Widget {
  readonly initialize: (shown: Pick<WidgetView, 'model'>) => () => void;
  readonly render: (shown: WidgetView) => () => void;
}
