import { useState } from 'preact/hooks';
import type { DashboardAction } from '../../../../schemas/reports/dashboard-actions.ts';
import type { DashboardCluster, DashboardHeld } from '../../../../schemas/reports/dashboard-clusters.ts';
import { ActionButton, ActionsNote } from '../actions/action-button.tsx';
import { clusterObjectAddress } from '../addresses.ts';
import { type Answered, useAnswer } from '../asking.ts';
import { Shown, Time } from '../parts.tsx';
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
      <section aria-labelledby="held">
        <h2 id="held">What is held</h2>
        <Shown answered={held}>
          {(value) => <Held cluster={told.cluster} told={value} onDone={onDone} />}
        </Shown>
      </section>
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
  return (
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Why (rule)</th>
            <th scope="col">Since</th>
            <th scope="col" class="number">
              Held now
            </th>
            <th scope="col" class="number">
              In all
            </th>
            <th scope="col">What lets it go</th>
          </tr>
        </thead>
        <tbody>
          {holds.map(({ rule, why, objects, sinceMs, approve, what }, index) => {
            const words = holdWords[index] ?? null;
            return (
              <tr key={`${rule} ${words?.as} ${words?.name}`}>
                <th scope="row">
                  {what?.kind === 'owner' ? (
                    <a href={clusterObjectAddress(cluster, what.uid)}>{words?.text}</a>
                  ) : (
                    (words?.text ?? 'objects')
                  )}
                </th>
                <td>
                  {why} ({rule})
                </td>
                <td>
                  <Time ms={sinceMs} />
                </td>
                <td class="number">{countText(objects)}</td>
                <td class="number">{words === null ? '' : countText(words.objects)}</td>
                <td>
                  {words === null || approve === null ? (
                    'No approval ends it.'
                  ) : (
                    <>
                      <ApproveButton
                        held={{
                          cluster,
                          name: words.name,
                          as: words.as,
                          objects: words.objects,
                          shown: words.shown,
                        }}
                        text={words.text}
                        neededHours={words.neededHours}
                        onDone={onDone}
                      />
                      <code class="command">{approve}</code>
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function ApprovalTable({ cluster, told: { held, approvalWords }, onDone }: HeldProps) {
  return (
    <div class="table">
      <table>
        <caption>Approvals in force</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col" class="number">
              Objects
            </th>
            <th scope="col">Until</th>
            <th scope="col">By</th>
            <th scope="col">Why</th>
            <th scope="col">Action</th>
          </tr>
        </thead>
        <tbody>
          {held.approvals.map(({ id, untilMs, by, reason }, index) => {
            const words = approvalWords[index];
            return words === undefined ? null : (
              <tr key={id}>
                <th scope="row">{words.text}</th>
                <td class="number">{countText(words.objects)}</td>
                <td>
                  <Time ms={untilMs} />
                </td>
                <td>{by}</td>
                <td>{reason}</td>
                <td>
                  <WithdrawButton
                    approved={{ cluster, name: words.name, as: words.as }}
                    text={words.text}
                    onDone={onDone}
                  />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
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
    <section aria-labelledby="cascades">
      <h2 id="cascades">Cascades</h2>
      <p class="quiet">
        As of <Time ms={census.takenAt.serverMs} />, by the clock of the API server.
      </p>
      {missingOwners.count === 0 ? (
        <p>No owner is missing.</p>
      ) : (
        <div class="table">
          <table>
            <caption>
              Missing owners, the widest cascade first:{' '}
              {firstOf(missingOwners.first.length, missingOwners.count)}
            </caption>
            <thead>
              <tr>
                <th scope="col">Owner</th>
                <th scope="col" class="number">
                  Objects that depended on it, deleted ones too
                </th>
                <th scope="col" class="number">
                  With all of its kind
                </th>
                <th scope="col">Held</th>
              </tr>
            </thead>
            <tbody>
              {missingOwners.first.map((missing) => (
                <tr key={missing.ownerUid}>
                  <th scope="row">
                    <a href={clusterObjectAddress(cluster, missing.ownerUid)}>
                      {missing.ownerKind} {missing.ownerName}
                    </a>
                  </th>
                  <td class="number">{countText(missing.objects)}</td>
                  <td class="number">{countText(missing.ofKind)}</td>
                  <td>{cascadeText(missing, held)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {waitingOwners.count === 0 ? null : (
        <div class="table">
          <table>
            <caption>
              Owners that wait for their dependents:{' '}
              {firstOf(waitingOwners.first.length, waitingOwners.count)}
            </caption>
            <thead>
              <tr>
                <th scope="col">Owner</th>
                <th scope="col">Deleted</th>
                <th scope="col" class="number">
                  Dependents that hold it back
                </th>
                <th scope="col">Such as</th>
              </tr>
            </thead>
            <tbody>
              {waitingOwners.first.map(({ object, deletionTimestamp, blocking, blockers }) => (
                <tr key={object.uid}>
                  <th scope="row">
                    <a href={clusterObjectAddress(cluster, object.uid)}>
                      {kindText(object)} {nameText(object)}
                    </a>
                  </th>
                  <td>{deletionTimestamp}</td>
                  <td class="number">{countText(blocking)}</td>
                  <td>{blockers.map((each) => `${kindText(each)} ${nameText(each)}`).join(', ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

/** A census tells of the first fifty, and counts all. */
export const firstOf = (shown: number, count: number): string =>
  shown < count ? `the first ${shown} of ${countText(count)}` : countText(count);

const HOUR_MS = 3_600_000;
const CHOICES_HOURS = [1, 2, 4, 8, 12, 24, 48, 168, 720];

interface ApproveButtonProps {
  /** What is held, as `fleetgc held` names it; the reader saw so many objects. */
  readonly held: Pick<DashboardAction<'approve'>, 'cluster' | 'name' | 'as' | 'objects' | 'shown'>;
  /** The same in words, such as `owner apps/Deployment shop/web (1f2e…)`. */
  readonly text: string;
  /** How long it needs until all of it has gone, where the policy lets only so many go in an hour. */
  readonly neededHours?: number;
  readonly onDone?: () => void;
}

/** Approves what is held in a cluster, as wide as the reader saw it. */
function ApproveButton({ held, text, neededHours = 1, onDone }: ApproveButtonProps) {
  const least = CHOICES_HOURS.find((hours) => hours >= neededHours) ?? 720;
  const [hours, setHours] = useState(least);
  return (
    <ActionButton
      action="approve"
      label="Approve"
      title={`Approve ${text} in cluster ${held.cluster}`}
      about={{ ...held, forMs: hours * HOUR_MS }}
      {...(onDone && { onDone })}
    >
      <p>
        Up to {countText(held.objects)} objects may then go, as you see them here. If more are held by now, or
        others, nothing is approved.
      </p>
      <label>
        In force for
        <select value={hours} onChange={(event) => setHours(Number(event.currentTarget.value))}>
          {CHOICES_HOURS.map((choice) => (
            <option key={choice} value={choice}>
              {choice === 1 ? '1 hour' : `${choice} hours`}
            </option>
          ))}
        </select>
      </label>
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
  readonly onDone?: () => void;
}) {
  return (
    <ActionButton
      action="withdraw"
      label="Withdraw"
      title={`Withdraw the approval of ${text} in cluster ${approved.cluster}`}
      about={approved}
      {...(onDone && { onDone })}
    >
      <p>Objects that it allowed to go, and that are still there, are held again.</p>
    </ActionButton>
  );
}
