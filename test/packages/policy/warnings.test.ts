import { expect, test } from 'vitest';
import { readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';

/** Notes on a policy of these lines, each as the setting and what is said of it. */
function warningsOn(...lines: readonly string[]): readonly string[] {
  const files = readPolicyFiles([
    { file: 'p.yaml', text: ['name: a', 'mode: dry-run', ...lines, ''].join('\n') },
  ]);
  if (!files.valid) throw new Error(files.problems.map(({ message }) => message).join('; '));
  return files.warnings.map(({ path, message }) => `${path}: ${message}`);
}

const ALL = 'nodefs.available: 10%, nodefs.inodesFree: 5%, imagefs.inodesFree: 5%';
const NO_ROOM =
  'removal by usage begins at 15% available, and the eviction threshold of imagefs.available is 15%: it has no room to act before removal is forced';

test.each<{ name: string; lines: string[]; warnings: string[] }>([
  { name: 'nothing on the plainest policy', lines: [], warnings: [] },
  {
    name: 'that signals of memory and process ids do nothing',
    lines: [`evictionHard: {${ALL}, imagefs.available: 5%, memory.available: 100Mi, pid.available: 10%}`],
    warnings: ['memory', 'pid'].map(
      (name) => `evictionHard.${name}.available: ignored: removing images or containers frees none of it`,
    ),
  },
  {
    name: '[J6] that thresholds of containerfs are not asked',
    lines: [`evictionHard: {${ALL}, imagefs.available: 5%, containerfs.available: 5%}`],
    warnings: [
      'evictionHard.containerfs.available: replaced by the value of nodefs or imagefs, whichever filesystem it shares, as the kubelet does',
    ],
  },
  {
    name: '[B15] which spellings of nothing mean no threshold',
    lines: [
      'evictionHard: {nodefs.available: 0%, nodefs.inodesFree: 0.0%, imagefs.available: 100%, imagefs.inodesFree: 100.0%}',
    ],
    warnings: [
      'evictionHard.nodefs.available: 0% means no threshold',
      'evictionHard.nodefs.inodesFree: is never met; 0% means no threshold',
      'evictionHard.imagefs.available: 100% means no threshold',
      'evictionHard.imagefs.inodesFree: is met all the time; 100% means no threshold',
    ],
  },
  {
    name: '[B14] which defaults are gone',
    lines: ['evictionHard: {nodefs.available: 5%, nodefs.inodesFree: 5%}'],
    warnings: [
      'evictionHard: imagefs.available, imagefs.inodesFree have no threshold now: what evictionHard does not name loses its default; mergeDefaultEvictionSettings: true keeps it',
    ],
  },
  { name: '[B14] nothing where none is wanted', lines: ['evictionHard: {}'], warnings: [] },
  {
    name: '[B14] nothing where defaults are merged',
    lines: ['evictionHard: {nodefs.available: 5%}', 'mergeDefaultEvictionSettings: true'],
    warnings: [],
  },
  {
    name: 'what belongs to no threshold',
    lines: [
      'evictionSoftGracePeriod: {nodefs.available: 1m}',
      'evictionMinimumReclaim: {containerfs.available: 1Gi}',
    ],
    warnings: [
      'evictionSoftGracePeriod.nodefs.available: no soft threshold has this signal',
      'evictionMinimumReclaim.containerfs.available: no threshold has this signal',
    ],
  },
  {
    name: 'a target that no disk can reach',
    lines: ['evictionMinimumReclaim: {nodefs.available: 90.5%, nodefs.inodesFree: 95%}'],
    warnings: [
      'evictionMinimumReclaim.nodefs.available: together with the hard threshold of 10% this is more than there is: it is never reached',
    ],
  },
  {
    name: '[M15] a high threshold at the eviction threshold',
    lines: ['imageGCHighThresholdPercent: 85'],
    warnings: [`imageGCHighThresholdPercent: ${NO_ROOM}`],
  },
  { name: '[M15] none one percent below', lines: ['imageGCHighThresholdPercent: 84'], warnings: [] },
  {
    name: '[M15] an eviction threshold at the high threshold',
    lines: [`evictionHard: {${ALL}, imagefs.available: 15%}`],
    warnings: [`evictionHard.imagefs.available: ${NO_ROOM}`],
  },
  {
    name: '[M15, D1] none where removal by usage is off',
    lines: ['imageGCHighThresholdPercent: 100'],
    warnings: [],
  },
  {
    name: '[M15, M16] none where eviction forces nothing',
    lines: ['imageGCHighThresholdPercent: 90', 'forcedGC: false'],
    warnings: [],
  },
])('warnings $name', ({ lines, warnings }) => {
  expect(warningsOn(...lines)).toEqual(warnings);
});
