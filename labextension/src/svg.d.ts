/** Lets TypeScript import pictures (SVG). The bundler exports the text of the file. */
declare module '*.svg' {
  const text: string;
  export default text;
}
