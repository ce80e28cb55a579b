import { LineCounter, parseDocument } from 'yaml';
import { exceededYamlBound } from './yaml-bounds.ts';

export type YamlValue =
  | { readonly ok: true; readonly value: unknown }
  /** In a sentence, with the place of the first fault. */
  | { readonly ok: false; readonly problem: string };

/** What a bounded text says as YAML; a key that is there twice is a fault. */
export function yamlValueOf(text: string): YamlValue {
  const exceeded = exceededYamlBound(text);
  if (exceeded !== null) return { ok: false, problem: exceeded };
  const lines = new LineCounter();
  // The parser's own way to tell the place looks through the file once for each fault.
  const options = {
    uniqueKeys: true,
    stringKeys: true,
    prettyErrors: false,
    logLevel: 'error',
    lineCounter: lines,
  } as const;
  try {
    const document = parseDocument(text, options);
    const [fault] = document.errors;
    if (fault === undefined) return { ok: true, value: document.toJS() };
    const { line, col } = lines.linePos(fault.pos[0]);
    return { ok: false, problem: `${fault.message} at line ${line}, column ${col}` };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
