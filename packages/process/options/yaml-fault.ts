import type { YAMLError } from 'yaml';

/** What is wrong with a YAML text, in plain words first; the parser's own come behind them. */
export function yamlFaultText({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
  if (code === 'DUPLICATE_KEY') return 'the same key stands here a second time';
  if (code === 'TAG_RESOLVE_FAILED') return 'a tag such as !name has no meaning here';
  return `this cannot be read as YAML; look at quotes, brackets and indentation here and just above (${message})`;
}
