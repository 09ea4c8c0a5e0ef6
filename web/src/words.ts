// The former name of formatting.ts, for the files that still import it.
export * from './formatting';
