import { describe, expect, test } from 'vitest';
import { planTable } from '../../../packages/documents/plan.ts';
import type { CompleteInventory, InventoryImage } from '../../../schemas/events/inventory.ts';
import type { PolicyKeep } from '../../../schemas/policy/policy.ts';
import { filesystems } from '../../fixtures/filesystems.ts';
import { container, image, inventory } from '../../fixtures/inventory.ts';
import { keepList } from '../../fixtures/policy.ts';
import { instant } from '../../fixtures/time.ts';
import { plan } from '../../packages/plan/support.ts';

const SHOP = { uid: 'p', name: 'web', namespace: 'shop' };
const NO_REGISTRY = { repoDigests: [`localhost/a@sha256:${'a'.repeat(64)}`] };

describe('[M11] the table says what of the keep list keeps an object', () => {
  test.each<{
    why: string;
    keep?: Partial<PolicyKeep>;
    given?: Partial<InventoryImage>;
    facts?: Partial<CompleteInventory>;
  }>([
    { why: 'kept by registry.example/**', keep: { patterns: ['registry.example/**'] } },
    { why: 'kept by keep=true', keep: { labels: { keep: 'true' } }, given: { labels: { keep: 'true' } } },
    {
      why: 'one of the last versions of registry.example/a',
      keep: { lastVersions: 1 },
    },
    {
      why: 'used by a pod whose namespace is not known',
      keep: { namespaces: ['shop'], unpullable: false },
      given: { usedBy: [{ kind: 'pod', id: 'elsewhere' }] },
    },
    { why: 'cannot be pulled again: it has no repository digest', given: { repoDigests: [] } },
    { why: 'cannot be pulled again: its name has no registry', given: NO_REGISTRY },
  ])('$why', ({ why, keep = {}, given = {}, facts = {} }) => {
    const node = inventory({ images: [image('a', given)], ...facts });
    // Profile kubelet takes what pods want for unused, so that the keep list is what keeps it.
    const made = plan(node, { keep: keepList({ unpullable: true, ...keep }), profile: 'kubelet' });
    expect(whyOf(planTable(made), 'image')).toBe(`${why} (M11)`);
  });

  test.each([
    { pod: SHOP, why: 'in the kept namespace shop' },
    { pod: { ...SHOP, namespace: '' }, why: 'its namespace is not known' },
  ])('of a container: $why', ({ pod, why }) => {
    const made = plan(inventory({ containers: [container('c', { pod })] }), {
      keep: keepList({ namespaces: ['shop'] }),
      maximumDeadContainersPerContainer: 0,
    });
    expect(whyOf(planTable(made), 'container')).toBe(`${why} (M11)`);
  });

  test('counted together where only the repository differs', () => {
    const made = plan(inventory({ images: [image('a'), image('b')] }), {
      keep: keepList({ lastVersions: 1 }),
    });
    expect(planTable(made)).toContain('  2 one of the last versions of a repository (M11)');
  });
});

test('a time that no calendar has is told as it is', () => {
  const takenAt = instant({ wallTimeMs: 9e15 });
  expect(planTable(plan(inventory({ takenAt }), {}))[0]).toMatch(/ at 9000000000000000 ms, trigger /);
});

test('what is missing is told as a size, and exact in the plan', () => {
  const reading = filesystems({ capacityBytes: '100000000000', availableBytes: '10000000000' });
  const made = plan(inventory({ filesystems: reading, images: [image('a')] }));
  expect(planTable(made)).toContain('Why: 10 GB are missing to the target.');
  expect(made.reason).toBe('10000000000 bytes are missing to the target');
});

/** The last cell of the first line of the table of what stays. */
const whyOf = (lines: readonly string[], kind: string): string | undefined =>
  lines
    .slice(lines.findIndex((line) => line.startsWith('KEEP ')))
    .find((line) => line.startsWith(`${kind} `))
    ?.split(/ {2,}/)
    .at(-1);
