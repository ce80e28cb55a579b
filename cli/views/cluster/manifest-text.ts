import { stringify } from 'yaml';
import type { Manifest } from '../../../services/cluster-access/manifest.ts';

/** For `kubectl apply -f -`: a document each, or one list of all. */
export function manifestText(
  format: 'yaml' | 'json',
  manifests: readonly Manifest[],
  remarks: readonly string[],
): string {
  if (format === 'json') return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }, null, 2);
  const documents = manifests.map((each) => stringify(each, { lineWidth: 0, aliasDuplicateObjects: false }));
  return `${remarks.map((remark) => `# ${remark}\n`).join('')}${documents.join('---\n').trimEnd()}`;
}
