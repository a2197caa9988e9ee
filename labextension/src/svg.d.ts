/** The bundler reads an SVG as its text. */
declare module '*.svg' {
  const text: string;
  export default text;
}
