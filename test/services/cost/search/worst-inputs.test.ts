import { describe, expect, test } from 'vitest';
import { decide as decideContainers } from '../../../../packages/deciders/container-gc/decide.ts';
import { decide as decideImages } from '../../../../packages/deciders/image-gc/decide.ts';
import type { CompleteInventory } from '../../../../schemas/events/inventory.ts';
import { MAX_DECISION_STEPS, Steps } from '../../../../schemas/policy/steps.ts';
import { container, image, inventory, pod } from '../../../fixtures/inventory.ts';
import { keepList, policy } from '../../../fixtures/policy.ts';
import { worstOf } from './climb.ts';
import { SURFACES } from './surfaces.ts';

/** A longer search: `COST_ROUNDS=2000 npx vitest run --project unit test/services/cost/search`. */
const ROUNDS = Number(process.env.COST_ROUNDS ?? '15');

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe('[P10] the worst valid input that a search finds stays within the steps of', () => {
  test.each(SURFACES)('$name', (surface) => {
    const { steps, genome } = worstOf(surface, ROUNDS);
    if (process.env.COST_ROUNDS !== undefined)
      process.stderr.write(
        `${surface.name}: ${steps} of ${surface.bound} steps, by ${JSON.stringify(genome)}\n`,
      );
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThanOrEqual(surface.bound);
  });
});

/** Inputs that took up to 1,900 ms and counted next to nothing, as a search over the time of a processor found them. */
describe('[P10] it counts', () => {
  const outcomeOf = (given: CompleteInventory, keep = {}): string =>
    decideImages(given, policy({ keep: keepList(keep) })).outcome;
  const named = (count: number, name: (index: number) => string) =>
    inventory({
      images: many(150, (at) =>
        image(`i${at}`, { repoTags: many(count, (index) => name(1_000 * at + index)) }),
      ),
    });
  const PATTERNS = { patterns: many(1_000, (index) => `q${index}/*`) };

  test.each([
    {
      what: 'to hash each form of a name',
      given: named(500, (at) => `docker.io/library/${at}`.padEnd(500, 'y')),
      keep: PATTERNS,
    },
    { what: 'to take many short names apart', given: named(900, (at) => `${at}`), keep: PATTERNS },
    {
      what: 'what is said of rules that match nothing',
      given: inventory(),
      keep: { labels: Object.fromEntries(many(1_000, (index) => [`${index}`.padEnd(20_000, 'x'), ''])) },
    },
    {
      what: 'to look for digests',
      given: inventory({
        images: many(800, (at) => image(`i${at}`, { repoDigests: many(900, (index) => `${index}@${at}`) })),
      }),
      keep: { digests: many(100, (index) => String(index).padStart(64, '0')) },
    },
    {
      what: 'users that the record repeats',
      given: inventory({
        images: many(2_000, (at) => image(`i${at}`, { usedBy: [{ kind: 'lease', id: 'x'.repeat(9_000) }] })),
      }),
      keep: {},
    },
  ])('$what', ({ given, keep }) => {
    expect(outcomeOf(given, keep)).toBe('too-costly');
  });

  test('names of init containers', () => {
    const given = inventory({
      pods: many(100, (at) => pod(`u${at}`, { initContainers: many(9_999, (index) => `c${index}`) })),
    });
    expect(decideContainers(given, policy()).outcome).toBe('too-costly');
  });

  test('labels only as often as a policy asks for them', () => {
    const labels = Object.fromEntries(many(1_000, (index) => [`l${index}`, '']));
    const given = inventory({ images: many(500, (at) => image(`i${at}`, { labels })) });
    const steps = new Steps(MAX_DECISION_STEPS);
    decideImages(given, policy({ keep: keepList({ labels: { app: 'web' } }) }), steps);
    expect(steps.taken).toBeLessThan(MAX_DECISION_STEPS / 10);
  });
});

describe('[P10] no ordinary node is too costly:', () => {
  test('ten thousand dead containers', () => {
    const given = inventory({ containers: many(10_000, (at) => container(String(at).padStart(64, '0'))) });
    expect(decideContainers(given, policy()).outcome).not.toBe('too-costly');
  });

  test('twenty thousand images', () => {
    const given = inventory({ images: many(20_000, (at) => image(String(at).padStart(64, '0'))) });
    expect(decideImages(given, policy()).outcome).not.toBe('too-costly');
  });

  test.each(many(5, (seed) => seed))('a random large one, number %i', (seed) => {
    const draw = (below: number, at: number): number =>
      (Math.imul(at + 1, 2_654_435_761 + 97 * seed) >>> 0) % below;
    const registry = ['docker.io/library', 'registry.example/team', 'ghcr.io/org/project', 'registry.k8s.io'];
    const patterns = many(200, (at) => {
      const written = [
        `**/base-${at}/**`,
        `${registry[draw(4, at)]}/app-${at}/*`,
        `*/pause-${at}:*`,
        `ghcr.io/**/app-${at}:v*-prod`,
      ];
      return written[draw(4, at + 7)] ?? 'pause:*';
    });
    const given = inventory({
      images: many(2_000, (at) => {
        const name = `${registry[draw(4, at)]}/service-${draw(400, at + 3)}`;
        const digest = `sha256:${String(at).padStart(64, '0')}`;
        return image(digest, {
          repoTags: many(draw(3, at), (tag) => `${name}:v1.${at}.${tag}-0123abcd`),
          repoDigests: [`${name}@${digest}`],
          labels: Object.fromEntries(many(draw(20, at), (label) => [`org.example.label-${label}`, `${at}`])),
          usedBy: many(draw(2, at), (user) => ({
            kind: 'container',
            id: String(at + user).padStart(64, '0'),
          })),
        });
      }),
      containers: many(350, (at) => container(String(at).padStart(64, '0'))),
    });
    const keep = keepList({
      patterns,
      labels: { 'org.example.label-3': 'x', tier: 'base' },
      lastVersions: seed % 3,
    });
    expect(decideImages(given, policy({ keep })).outcome).not.toBe('too-costly');
    expect(decideContainers(given, policy({ keep })).outcome).not.toBe('too-costly');
  });
});
