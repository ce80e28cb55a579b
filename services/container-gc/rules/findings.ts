import type { Note } from '../../../packages/decision/conclusion.ts';
import { compareText } from '../../../packages/decision/listing.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';

/** Units of which more than one container runs: nobody reconciles them, and none of them is touched (M30). */
export function runningTwice({ containers }: CompleteInventory): Note[] {
  const running = containers.flatMap(({ id, name, state, pod }) =>
    state === 'running' && pod !== null && name !== '' ? [{ id, name, pod }] : [],
  );
  const units = Map.groupBy(running, ({ pod }) => pod.uid)
    .values()
    .filter(({ length }) => length > 1)
    .flatMap((ofPod) => Map.groupBy(ofPod, ({ name }) => name).values());
  return [...units]
    .filter((members) => new Set(members.map(({ id }) => id)).size > 1)
    .map(([first, ...others]) => sentence(first, [first, ...others]))
    .toSorted((a, b) => compareText(a.message, b.message));
}

type Running = {
  readonly id: string;
  readonly name: string;
  readonly pod: { readonly namespace: string; readonly name: string };
};

function sentence(first: Running | undefined, members: readonly (Running | undefined)[]): Note {
  const ids = members.flatMap((member) => member?.id ?? []).toSorted(compareText);
  const unit = first ? `${first.pod.namespace}/${first.pod.name}/${first.name}` : '';
  return {
    rule: 'M30',
    message: `${ids.length} containers of ${unit} run at the same time: ${ids.join(', ')}`,
  };
}
