/**
 * Gives each of Lab's CSS variables a fallback for pages without Lab: VS Code's variable or, where that is missing too,
 * a colour for light and one for dark pages.
 */

/** By Lab's variable for a colour: VS Code's variable, and the colours for light and for dark pages. */
const COLOURS = {
  'border-color1': ['panel-border', '#bdbdbd', '#616161'],
  'border-color2': ['panel-border', '#e0e0e0', '#424242'],
  'brand-color0': ['textLink-activeForeground', '#0d47a1', '#90caf9'],
  'brand-color1': ['textLink-foreground', '#1565c0', '#64b5f6'],
  'content-link-color': ['textLink-foreground', '#1565c0', '#64b5f6'],
  'error-color1': ['errorForeground', '#d32f2f', '#ef5350'],
  'info-color1': ['notificationsInfoIcon-foreground', '#0097a7', '#4dd0e1'],
  'info-color2': ['notificationsInfoIcon-foreground', '#80deea', '#006064'],
  'layout-color1': ['notebook-cellEditorBackground', '#ffffff', '#1e1e1e'],
  'layout-color2': ['sideBar-background', '#f2f2f2', '#2a2a2a'],
  'layout-color3': ['list-hoverBackground', '#e0e0e0', '#424242'],
  'success-color1': ['testing-iconPassed', '#388e3c', '#66bb6a'],
  'ui-font-color0': ['foreground', '#000000', '#ffffff'],
  'ui-font-color1': ['foreground', '#212121', '#e0e0e0'],
  'ui-font-color2': ['descriptionForeground', '#616161', '#b0b0b0'],
  'ui-inverse-font-color0': ['button-foreground', '#ffffff', '#000000'],
  'warn-color0': ['editorWarning-foreground', '#e65100', '#ffcc80'],
  'warn-color1': ['editorWarning-foreground', '#ef6c00', '#ffb74d']
};

/** The fallbacks for fonts, sizes and shadows, by Lab's variables. */
const OTHERS = {
  'code-font-family': 'var(--vscode-editor-font-family, ui-monospace, Menlo, Consolas, monospace)',
  'code-font-size': '13px',
  'elevation-z2': '0 2px 4px #0003',
  'elevation-z6': '0 6px 12px #0003',
  'ui-font-family': 'var(--vscode-font-family, system-ui, sans-serif)',
  'ui-font-size0': '11px',
  'ui-font-size1': '13px',
  'ui-font-size2': '15px'
};

/**
 * Return the style sheet with fallbacks: `var(--jp-code-font-size)` becomes `var(--jp-code-font-size, 13px)`.
 *
 * Throws: Error for a variable without a fallback.
 */
export function addFallbacks(css) {
  return css.replace(/var\(--jp-([\w-]+)\)/g, (_, name) => {
    const [variable, light, dark] = COLOURS[name] ?? [];
    const fallback = OTHERS[name] ?? (variable && `var(--vscode-${variable}, light-dark(${light}, ${dark}))`);
    if (fallback === undefined) {
      throw new Error(`--jp-${name} has no fallback: add one to fallbacks.mjs`);
    }
    return `var(--jp-${name}, ${fallback})`;
  });
}
