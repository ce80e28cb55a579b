import { printableLine } from '../../../packages/text/printable.ts';
import type { Manifest } from '../../../services/cluster/access/guard.ts';
import type { ManifestFormat } from '../../framework/output.ts';
import { jsonText, yamlText } from '../../framework/printable-documents.ts';

/** For `kubectl apply -f -`: a document each, or one list of all. */
export function manifestText(
  format: ManifestFormat,
  manifests: readonly Manifest[],
  remarks: readonly string[],
): string {
  if (format === 'json') return manifestListText(manifests);
  if (format === 'name') return manifests.map(manifestName).join('\n');
  const documents = manifests.map(manifestDocument);
  return `${remarks.map((remark) => `# ${printableLine(remark)}\n`).join('')}${documents.join('---\n').trimEnd()}`;
}

/** As `kubectl -o name` prints it, such as `clusterrole.rbac.authorization.k8s.io/fleetgc`. */
const manifestName = ({ apiVersion, kind, metadata: { name } }: Manifest): string => {
  const [group, version] = apiVersion.split('/');
  return printableLine(`${kind.toLowerCase()}${version === undefined ? '' : `.${group}`}/${name}`);
};

/** One list of all. */
const manifestListText = (manifests: readonly Manifest[]): string =>
  jsonText({ apiVersion: 'v1', kind: 'List', items: manifests });

/** One document, which ends its last line. */
export const manifestDocument = (manifest: Manifest): string => yamlText(manifest, (text) => !isPlain(text));

/**
 * Whether a text needs no quotes. kubectl reads YAML 1.1, in which `no` and `1_000` are no texts, and takes no block whose first line
 * begins with a tab: what it cannot read ends all that comes after it.
 */
const isPlain = (text: string): boolean =>
  text.includes('\n') ? !BEGINS_BLANK.test(text) : /^[A-Za-z/]/.test(text) && !NO_TEXT.test(text);

const BEGINS_BLANK = /^\n*[\t ]/;
const NO_TEXT = /^(y|n|yes|no|on|off|true|false|null|nan|inf|infinity)$/i;
