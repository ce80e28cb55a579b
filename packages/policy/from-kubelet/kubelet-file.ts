import { z } from 'zod';
import { KubeletConfiguration, SharedSettings } from '../../../schemas/policy/kubelet-configuration.ts';
import { byPlace, type Problem } from '../file/problem.ts';
import { schemaProblems } from '../file/schema-problems.ts';
import {
  KUBERNETES_YAML,
  type PolicyText,
  parseYaml,
  problemAt,
  type YamlDocument,
} from '../file/yaml-document.ts';
import { wrapperAdvice } from './kubelet-wrappers.ts';

/** A kubelet's configuration that its kubelet would accept. */
export interface KubeletFile {
  readonly settings: SharedSettings;
  /** Names of all top-level fields, in the order of the file. */
  readonly fields: readonly string[];
  /** As written; `undefined` when it is not. */
  readonly podLogsDir: string | undefined;
}

export type KubeletFileReading =
  | { readonly valid: true; readonly configuration: KubeletFile }
  | {
      readonly valid: false;
      readonly problems: readonly Problem[];
      /** As of a `KubeletFile`; none of a file that does not say that it is one. */
      readonly fields: readonly string[];
    };

/** Reads a configuration file of a kubelet, YAML or JSON, and reports all problems at once (B12). */
export function readKubeletFile({ file, text }: PolicyText): KubeletFileReading {
  const [document, ...more] = parseYaml(file, text, KUBERNETES_YAML);
  if (!document) return refused([{ file, line: 1, column: 1, path: '', message: 'this file is empty' }]);
  const second = more.map((other) =>
    problemAt(other, [], 'a kubelet reads one document; put the others elsewhere'),
  );
  if (!document.wellFormed) return refused([...document.problems, ...second]);
  const wrapped = wrapperAdvice(document.value);
  if (wrapped !== null) return refused([problemAt(document, [], wrapped)]);
  const { data, error } = KubeletConfiguration.safeParse(document.value);
  const problems = [...document.problems, ...(error ? schemaProblems(error, document) : []), ...second];
  if (!data || problems.length > 0) return refused(problems, fieldsOf(document));
  return { valid: true, configuration: kubeletFile(document, data.podLogsDir) };
}

const refused = (problems: readonly Problem[], fields: readonly string[] = []): KubeletFileReading => ({
  valid: false,
  problems: problems.toSorted(byPlace),
  fields,
});

const { kind: Kind } = KubeletConfiguration.shape;
const OfItsKind = z.looseObject({}).refine(({ kind }) => Kind.safeParse(kind).success);

const fieldsOf = ({ value }: YamlDocument): readonly string[] =>
  Object.keys(OfItsKind.safeParse(value).data ?? {});

const kubeletFile = (document: YamlDocument, podLogsDir: string | undefined): KubeletFile => ({
  settings: SharedSettings.parse(document.value),
  fields: fieldsOf(document),
  podLogsDir,
});
