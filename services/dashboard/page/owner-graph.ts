import type { DashboardOwnerGraph, GraphObject } from '../../../schemas/reports/dashboard-clusters.ts';

export const BOX_WIDTH = 210;
export const BOX_HEIGHT = 62;
const BESIDE = 24;
const BELOW = 54;
const MARGIN = 16;
/** More dependents of one owner that are alike, and have no dependents of their own, are one box. */
const MOST_ALIKE = 5;
/** The order within layers is made better so often. */
const SWEEPS = 4;

/** What is drawn as one: an object, or many that are alike. */
export interface Box {
  readonly key: string;
  readonly objects: readonly GraphObject[];
  readonly x: number;
  readonly y: number;
  readonly layer: number;
}

export interface Line {
  readonly from: Box;
  readonly to: Box;
  readonly isDropped: boolean;
}

export interface DrawnGraph {
  readonly boxes: readonly Box[];
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
}

/** Owners stand above their dependents, in layers. */
export function drawGraph(given: DashboardOwnerGraph): DrawnGraph {
  const graph = inOrder(given);
  const groups = together(graph);
  const keyOf = new Map(
    [...groups].flatMap(([key, objects]) => objects.map(({ uid }) => [uid, key] as const)),
  );
  const links = linksOf(graph, keyOf);
  const layerOf = layersOf([...groups.keys()], links);
  const layers = ordered([...groups.keys()], layerOf, links);
  const boxes = new Map<string, Box>();
  for (const [layer, keys] of layers.entries())
    for (const [place, key] of keys.entries())
      boxes.set(key, {
        key,
        objects: groups.get(key) ?? [],
        layer,
        x: MARGIN + place * (BOX_WIDTH + BESIDE),
        y: MARGIN + layer * (BOX_HEIGHT + BELOW),
      });
  const widest = Math.max(1, ...layers.map(({ length }) => length));
  return {
    boxes: [...boxes.values()],
    lines: links.flatMap(({ owner, dependent, isDropped }) => {
      const [from, to] = [boxes.get(owner), boxes.get(dependent)];
      return from === undefined || to === undefined ? [] : [{ from, to, isDropped }];
    }),
    width: 2 * MARGIN + widest * (BOX_WIDTH + BESIDE) - BESIDE,
    height: 2 * MARGIN + Math.max(1, layers.length) * (BOX_HEIGHT + BELOW) - BELOW,
  };
}

/** By kind and name. */
function inOrder(graph: DashboardOwnerGraph): DashboardOwnerGraph {
  const objects = graph.objects.toSorted(byName);
  const placeOf = new Map(objects.map(({ uid }, place) => [uid, place]));
  const place = (uid: string): number => placeOf.get(uid) ?? 0;
  const edges = graph.edges.toSorted((a, b) => place(a.dependent) - place(b.dependent));
  return { ...graph, objects, edges };
}

const byName = (a: GraphObject, b: GraphObject): number =>
  a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name) || a.uid.localeCompare(b.uid);

/** Objects by the box in which they are drawn. */
function together({
  uid: start,
  objects,
  edges,
}: DashboardOwnerGraph): ReadonlyMap<string, readonly GraphObject[]> {
  const owners = Map.groupBy(edges, ({ dependent }) => dependent);
  const owning = new Set(edges.map(({ owner }) => owner));
  const likeness = (object: GraphObject): string => {
    const [edge, ...others] = owners.get(object.uid) ?? [];
    const isAlone = edge === undefined || others.length > 0 || owning.has(object.uid) || object.uid === start;
    return JSON.stringify(isAlone ? [object.uid] : [edge.owner, object.kind, object.state, edge.isDropped]);
  };
  const alike = [...Map.groupBy(objects, likeness)];
  return new Map(
    alike.flatMap(([key, all]): [string, readonly GraphObject[]][] =>
      all.length > MOST_ALIKE ? [[key, all]] : all.map((object) => [JSON.stringify([object.uid]), [object]]),
    ),
  );
}

interface Link {
  readonly owner: string;
  readonly dependent: string;
  readonly isDropped: boolean;
}

function linksOf({ edges }: DashboardOwnerGraph, keyOf: ReadonlyMap<string, string>): readonly Link[] {
  const links = new Map<string, Link>();
  for (const { owner: of, dependent: to, isDropped } of edges) {
    const [owner, dependent] = [keyOf.get(of), keyOf.get(to)];
    if (owner === undefined || dependent === undefined) continue;
    links.set(JSON.stringify([owner, dependent]), { owner, dependent, isDropped });
  }
  return [...links.values()];
}

/** Below all of its owners; where objects own each other in a ring, the ring is cut at the first of them. */
function layersOf(keys: readonly string[], links: readonly Link[]): ReadonlyMap<string, number> {
  const layers = new Map<string, number>();
  const owners = new Map(keys.map((key): [string, string[]] => [key, []]));
  for (const { owner, dependent } of links) owners.get(dependent)?.push(owner);
  const isFree = (key: string): boolean =>
    (owners.get(key) ?? []).every((owner) => owner === key || layers.has(owner));
  for (let left = keys; left.length > 0; left = left.filter((key) => !layers.has(key))) {
    const free = left.filter(isFree);
    const placed = free.length > 0 ? free : left.slice(0, 1);
    const layer = placed.map((key) => layerBelow(owners.get(key) ?? [], layers));
    for (const [index, key] of placed.entries()) layers.set(key, layer[index] ?? 0);
  }
  return layers;
}

const layerBelow = (owners: readonly string[], layers: ReadonlyMap<string, number>): number =>
  Math.max(0, ...owners.map((owner) => (layers.get(owner) ?? -1) + 1));

/** The boxes of each layer from left to right: each near to those that it belongs to. */
function ordered(
  keys: readonly string[],
  layerOf: ReadonlyMap<string, number>,
  links: readonly Link[],
): readonly (readonly string[])[] {
  const layers: string[][] = [];
  for (const key of keys) {
    const layer = layerOf.get(key) ?? 0;
    layers[layer] = [...(layers[layer] ?? []), key];
  }
  const near = new Map<string, string[]>(keys.map((key) => [key, []]));
  for (const { owner, dependent } of links) {
    near.get(owner)?.push(dependent);
    near.get(dependent)?.push(owner);
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const placeOf = new Map(layers.flatMap((layer) => layer.map((key, place) => [key, place] as const)));
    const middleOf = (key: string): number => {
      const places = (near.get(key) ?? []).flatMap((each) => placeOf.get(each) ?? []);
      if (places.length === 0) return placeOf.get(key) ?? 0;
      return places.reduce((sum, place) => sum + place, 0) / places.length;
    };
    for (const [layer, all] of layers.entries())
      layers[layer] = all.toSorted((a, b) => middleOf(a) - middleOf(b));
  }
  return layers;
}

export type Direction = 'up' | 'down' | 'left' | 'right';

/** Where an arrow key leads to from a box; `null` where there is nothing. */
export function boxBeside({ boxes }: DrawnGraph, from: Box, direction: Direction): Box | null {
  const layer = from.layer + { up: -1, down: 1, left: 0, right: 0 }[direction];
  const isOn = (x: number): boolean =>
    direction === 'left' ? x < from.x : direction === 'right' ? x > from.x : true;
  const there = boxes.filter((box) => box.layer === layer && isOn(box.x));
  return there.toSorted((a, b) => Math.abs(a.x - from.x) - Math.abs(b.x - from.x))[0] ?? null;
}

/** A dependent below its owners; what stands elsewhere in the list already is named only. */
export interface Listed {
  readonly object: GraphObject;
  readonly isNamedBefore: boolean;
  readonly dependents: readonly Listed[];
}

/** The graph as a list for whoever cannot see it: everything in it once with its dependents. */
export function listGraph(graph: DashboardOwnerGraph): readonly Listed[] {
  const { objects, edges } = inOrder(graph);
  const byUid = new Map(objects.map((object) => [object.uid, object]));
  const dependentsOf = Map.groupBy(edges, ({ owner }) => owner);
  const owned = new Set(
    edges.filter(({ owner, dependent }) => owner !== dependent).map(({ dependent }) => dependent),
  );
  const named = new Set<string>();
  const list = (uid: string): readonly Listed[] => {
    const object = byUid.get(uid);
    if (object === undefined) return [];
    if (named.has(uid)) return [{ object, isNamedBefore: true, dependents: [] }];
    named.add(uid);
    const dependents = (dependentsOf.get(uid) ?? []).flatMap(({ dependent }) => list(dependent));
    return [{ object, isNamedBefore: false, dependents }];
  };
  const roots = objects.filter(({ uid }) => !owned.has(uid)).flatMap(({ uid }) => list(uid));
  const inRings = objects
    .filter(({ uid }) => !named.has(uid))
    .flatMap(({ uid }) => (named.has(uid) ? [] : list(uid)));
  return [...roots, ...inRings];
}
