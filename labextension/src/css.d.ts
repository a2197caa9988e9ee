/** Lets TypeScript import style sheets. The bundler adds an imported style sheet to the page. It exports nothing. */
declare module '*.css';
