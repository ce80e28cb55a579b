import { useState } from 'preact/hooks';
import type { DashboardAction } from '../../../../schemas/reports/dashboard-actions.ts';
import type { DashboardCluster, DashboardHeld } from '../../../../schemas/reports/dashboard-clusters.ts';
import { ActionButton, ActionsNote } from '../actions/action-button.tsx';
import { clusterObjectAddress } from '../addresses.ts';
import { type Answered, useAnswer } from '../asking.ts';
import { Table } from '../document.tsx';
import { ObjectLink, Section, Select, Shown, Time } from '../parts.tsx';
import { countText, kindText, nameText } from '../texts.ts';

/** It reads the log itself. */
const EVERY_MS = 60_000;

interface Told {
  readonly told: DashboardCluster;
}

/** What is held, with what approves it, and the cascades that are under way. */
export function HeldSection({ told }: Told) {
  const [again, setAgain] = useState(0);
  const asked = new URLSearchParams({ cluster: told.cluster });
  const held = useAnswer<DashboardHeld>(`/api/cluster/held?${asked}`, EVERY_MS, again);
  const onDone = (): void => setAgain((times) => times + 1);
  return (
    <>
      <Section id="held" heading="What is held">
        <Shown answered={held}>
          {(value) => <Held cluster={told.cluster} told={value} onDone={onDone} />}
        </Shown>
      </Section>
      <Cascades told={told} held={held} />
    </>
  );
}

interface HeldProps {
  readonly cluster: string;
  readonly told: DashboardHeld;
  readonly onDone: () => void;
}

function Held({ cluster, told, onDone }: HeldProps) {
  const { held, policy } = told;
  const holds = held.clusters[0]?.holds ?? [];
  return (
    <>
      {policy === null ? (
        <p>No policy selects this cluster, so everything is kept.</p>
      ) : (
        <p>
          Policy {policy.name} ({policy.mode}) lets {countText(policy.limits.cascade)} objects go with one
          owner, {countText(policy.limits.cascadeOfKind)} with all missing owners of a kind, and{' '}
          {countText(policy.limits.removalsPerHour)} in an hour.
        </p>
      )}
      {holds.length === 0 ? (
        <p>Nothing is held.</p>
      ) : (
        <HoldTable cluster={cluster} told={told} onDone={onDone} />
      )}
      {held.approvals.length === 0 ? null : <ApprovalTable cluster={cluster} told={told} onDone={onDone} />}
      {holds.length + held.approvals.length === 0 ? null : <ActionsNote />}
    </>
  );
}

function HoldTable({ cluster, told: { held, holdWords }, onDone }: HeldProps) {
  const holds = held.clusters[0]?.holds ?? [];
  const rows = holds.map((hold, index) => ({ ...hold, words: holdWords[index] ?? null }));
  return (
    <Table
      rows={rows}
      keyOf={({ rule, words }) => `${rule} ${words?.as} ${words?.name}`}
      columns={[
        [
          'What',
          'name',
          ({ what, words }) =>
            what?.kind === 'owner' ? (
              <a href={clusterObjectAddress(cluster, what.uid)}>{words?.text}</a>
            ) : (
              (words?.text ?? 'objects')
            ),
        ],
        ['Why (rule)', 'text', ({ why, rule }) => `${why} (${rule})`],
        ['Since', 'time', ({ sinceMs }) => sinceMs],
        ['Held now', 'count', ({ objects }) => objects],
        ['In all', 'count', ({ words }) => words?.objects],
        [
          'What lets it go',
          'text',
          ({ words, approve }) =>
            words === null || approve === null ? (
              'No approval ends it.'
            ) : (
              <>
                <ApproveButton cluster={cluster} words={words} onDone={onDone} />
                <code class="command">{approve}</code>
              </>
            ),
        ],
      ]}
    />
  );
}

function ApprovalTable({ cluster, told: { held, approvalWords }, onDone }: HeldProps) {
  const rows = held.approvals.flatMap((approval, index) => {
    const words = approvalWords[index];
    return words === undefined ? [] : [{ ...approval, words }];
  });
  return (
    <Table
      caption="Approvals in force"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        ['What', 'name', ({ words }) => words.text],
        ['Objects', 'count', ({ words }) => words.objects],
        ['Until', 'time', ({ untilMs }) => untilMs],
        ['By', 'text', ({ by }) => by],
        ['Why', 'text', ({ reason }) => reason],
        [
          'Action',
          'text',
          ({ words: { name, as, text } }) => (
            <WithdrawButton approved={{ cluster, name, as }} text={text} onDone={onDone} />
          ),
        ],
      ]}
    />
  );
}

type Missing = NonNullable<DashboardCluster['census']>['findings']['missingOwners']['first'][number];

/** Whether a cascade is held, by what `fleetgc held` tells. */
function cascadeText({ ownerUid, ownerKind }: Missing, held: Answered<DashboardHeld>): string {
  if (held.kind !== 'answered') return 'not known';
  const holds = held.value.held.clusters[0]?.holds ?? [];
  const hold = holds.find(
    ({ what }) =>
      (what?.kind === 'owner' && what.uid === ownerUid) ||
      (what?.kind === 'owner-kind' && what.ownerKind === ownerKind),
  );
  return hold === undefined ? 'not held' : `held (${hold.rule})`;
}

/** Owners that are missing, and owners that wait. */
function Cascades({ told, held }: Told & { readonly held: Answered<DashboardHeld> }) {
  const { cluster, census } = told;
  if (census === null) return null;
  const { missingOwners, waitingOwners } = census.findings;
  return (
    <Section id="cascades" heading="Cascades">
      <p class="quiet">
        As of <Time ms={census.takenAt.serverMs} />, by the clock of the API server.
      </p>
      {missingOwners.count === 0 ? (
        <p>No owner is missing.</p>
      ) : (
        <Table
          caption={
            <>
              Missing owners, the widest cascade first:{' '}
              {firstOf(missingOwners.first.length, missingOwners.count)}
            </>
          }
          rows={missingOwners.first}
          keyOf={({ ownerUid }) => ownerUid}
          columns={[
            [
              'Owner',
              'name',
              ({ ownerUid, ownerKind, ownerName }) => (
                <a href={clusterObjectAddress(cluster, ownerUid)}>
                  {ownerKind} {ownerName}
                </a>
              ),
            ],
            ['Objects that depended on it, deleted ones too', 'count', ({ objects }) => objects],
            ['With all of its kind', 'count', ({ ofKind }) => ofKind],
            ['Held', 'text', (missing) => cascadeText(missing, held)],
          ]}
        />
      )}
      {waitingOwners.count === 0 ? null : (
        <Table
          caption={
            <>
              Owners that wait for their dependents:{' '}
              {firstOf(waitingOwners.first.length, waitingOwners.count)}
            </>
          }
          rows={waitingOwners.first}
          keyOf={({ object }) => object.uid}
          columns={[
            ['Owner', 'name', ({ object }) => <ObjectLink cluster={cluster} object={object} />],
            ['Deleted', 'text', ({ deletionTimestamp }) => deletionTimestamp],
            ['Dependents that hold it back', 'count', ({ blocking }) => blocking],
            [
              'Such as',
              'text',
              ({ blockers }) => blockers.map((each) => `${kindText(each)} ${nameText(each)}`).join(', '),
            ],
          ]}
        />
      )}
    </Section>
  );
}

/** A census tells of the first fifty, and counts all. */
export const firstOf = (shown: number, count: number): string =>
  shown < count ? `the first ${shown} of ${countText(count)}` : countText(count);

const HOUR_MS = 3_600_000;
const CHOICES_HOURS = [1, 2, 4, 8, 12, 24, 48, 168, 720];

interface ApproveButtonProps {
  readonly cluster: string;
  /** What is held, as `fleetgc held` names it; the reader saw so many objects. */
  readonly words: NonNullable<DashboardHeld['holdWords'][number]>;
  readonly onDone: () => void;
}

/** Approves what is held in a cluster, as wide as the reader saw it. */
function ApproveButton({ cluster, words, onDone }: ApproveButtonProps) {
  const { name, as, objects, shown, text, neededHours } = words;
  const least = CHOICES_HOURS.find((hours) => hours >= neededHours) ?? 720;
  const [hours, setHours] = useState(least);
  return (
    <ActionButton
      action="approve"
      label="Approve"
      title={`Approve ${text} in cluster ${cluster}`}
      about={{ cluster, name, as, objects, shown, forMs: hours * HOUR_MS }}
      onDone={onDone}
    >
      <p>
        Up to {countText(objects)} objects may then go, as you see them here. If more are held by now, or
        others, nothing is approved.
      </p>
      <Select
        label="In force for"
        value={String(hours)}
        options={CHOICES_HOURS.map((choice) => [String(choice), choice === 1 ? '1 hour' : `${choice} hours`])}
        onChange={(text) => setHours(Number(text))}
      />
    </ActionButton>
  );
}

/** Ends an approval: what it let go and is still there is held again. */
function WithdrawButton({
  approved,
  text,
  onDone,
}: {
  readonly approved: Pick<DashboardAction<'withdraw'>, 'cluster' | 'name' | 'as'>;
  readonly text: string;
  readonly onDone: () => void;
}) {
  return (
    <ActionButton
      action="withdraw"
      label="Withdraw"
      title={`Withdraw the approval of ${text} in cluster ${approved.cluster}`}
      about={approved}
      onDone={onDone}
    >
      <p>Objects that it allowed to go, and that are still there, are held again.</p>
    </ActionButton>
  );
}
