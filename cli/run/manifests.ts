import { objectsText } from '../../packages/documents/cluster.ts';
import { jsonText } from '../../packages/text/json-text.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { type ClusterObject, kindName } from '../../schemas/events/cluster-objects.ts';
import type { Manifest } from '../../services/cluster/access/guard.ts';
import type { Creatable, LeftOutBecause, Undone } from '../../services/cluster/ask/undo.ts';
import { type ManifestFormat, yamlText } from '../framework/output.ts';

/** For people, beside the manifests: what is among them, what is not and why, and what nobody can tell. */
export const undoLines = ({ creatable, leftOut }: Undone): readonly string[] =>
  [
    ...(creatable.length === 0 ? [] : [`Printed: ${kindsText(creatable.map(({ object }) => object))}.`]),
    ...installationLines(creatable),
    ...LEFT_OUT.flatMap(([because, why]) => {
      const objects = leftOut.filter((each) => each.because === because).map(({ object }) => object);
      return objects.length === 0 ? [] : [`Not printed: ${objectsText(objects.length, objects)}: ${why}.`];
    }),
    ...NOTES.flatMap(([concerns, note]) => {
      const objects = creatable.filter(concerns).map(({ object }) => object);
      return objects.length === 0 ? [] : [note(objectsText(objects.length, objects))];
    }),
  ].map(printableLine);

function installationLines(creatable: readonly Creatable[]): readonly string[] {
  const { size } = new Set(creatable.map(({ clusterInstance }) => clusterInstance));
  return size < 2
    ? []
    : [
        `They come from ${size} clusters that had this name one after the other: narrow it down with --since.`,
      ];
}

const kindsText = (objects: readonly ClusterObject[]): string =>
  [...Map.groupBy(objects, kindName)].map(([kind, same]) => `${same.length} ${kind}`).join(', ');

const WHY: Readonly<Record<LeftOutBecause, string>> = {
  secret: 'what is secret is never saved',
  excepted: 'the policy excepts the kind (undoExcept)',
  'not-saved': 'deleted while the policy did not say undo: manifest',
  stayed: 'the deletion was refused, so it was not deleted',
  'name-taken': 'an object of the same name was deleted later, and is the one that counts',
  unreadable: 'what the event log holds is no manifest of it',
};
const LEFT_OUT = Object.entries(WHY);

type Note = readonly [concerns: (each: Creatable) => boolean, note: (objects: string) => string];

const isOne =
  (...kinds: readonly string[]) =>
  ({ object }: Creatable): boolean =>
    kinds.includes(kindName(object));

const NOTES: readonly Note[] = [
  [
    ({ hadOwners }) => hadOwners,
    (objects) =>
      `Without owner references: ${objects}. Whoever owned them is gone, or gets a new uid; a reference to the old one would have them deleted again. Set references to new owners yourself, where no controller does.`,
  ],
  [
    ({ isToldGone }) => !isToldGone,
    (objects) => `Perhaps still there: ${objects}. No result says whether the deletion was carried out.`,
  ],
  [
    ({ isEarlierState }) => isEarlierState,
    (objects) =>
      `As they were some time before: ${objects}. They were saved for a deletion that was not carried out, and deleted later without being saved.`,
  ],
  [
    isOne('Pod', 'batch/Job'),
    (objects) =>
      `These run again once they are created: ${objects}. Fields such as nodeName are as they were.`,
  ],
  [
    isOne('apiextensions.k8s.io/CustomResourceDefinition'),
    () =>
      'Custom resources can be created once their definition is established: if some are refused, create them again.',
  ],
  [
    () => true,
    () =>
      'fleetgc does not know what is in the cluster now. "kubectl create -f -" refuses what is there under the same name; "kubectl apply -f -" would change it. Look at what is printed first: whoever may write to gc.cluster.removed could have written it.',
  ],
];

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
