/**
 * Lets TypeScript import style sheets. The bundler adds an imported style sheet to the page. A style sheet exports
 * nothing.
 */
declare module '*.css';
