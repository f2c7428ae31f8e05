// The poses of a report in their pocket: one hit at a time, with its contacts as labels and dashed lines.
(() => {
  const read = id => JSON.parse(document.getElementById(id).textContent);
  const { receptor, reference, hits } = read('poses-data');
  const find = id => document.getElementById(id);
  const choice = find('hit');
  const box = find('viewer');
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const paper = () => (dark.matches ? '#141414' : 'white');
  let viewer;
  try {
    viewer = $3Dmol.createViewer(box, { backgroundColor: paper() });
  } catch {
    viewer = null;
  }
  if (!viewer) {
    box.textContent = 'This browser draws nothing in three dimensions (no WebGL). The poses are in hits.sdf.';
  }
  dark.addEventListener('change', () => viewer?.setBackgroundColor(paper()));
  const known = viewer && reference ? viewer.addModel(reference, 'sdf') : null;
  const protein = viewer ? viewer.addModel(receptor, 'pdb') : null;
  let ligand = null;

  const selection = contact => ({ chain: contact.chain, resi: contact.number });

  const prepare = () => {
    const hit = hits[choice.selectedIndex];
    find('diagram').innerHTML = hit.diagram;
    find('contacts').replaceChildren(...hit.contacts.map(row));
    find('previous').disabled = choice.selectedIndex === 0;
    find('next').disabled = choice.selectedIndex === hits.length - 1;
    if (!viewer) {
      return;
    }
    viewer.removeAllShapes();
    viewer.removeAllLabels();
    if (ligand) {
      viewer.removeModel(ligand);
    }
    protein.setStyle({}, { cartoon: { color: '#b8c4d0', opacity: 0.6 } });
    for (const contact of hit.contacts) {
      const near = { ...selection(contact), not: { elem: 'H' } };
      protein.setStyle(near, {
        cartoon: { color: '#b8c4d0', opacity: 0.6 },
        stick: { radius: 0.13, colorscheme: 'whiteCarbon' }
      });
    }
    ligand = viewer.addModel(hit.mol, 'sdf');
    ligand.setStyle({}, { stick: { radius: 0.2, colorscheme: 'orangeCarbon' } });
    if (known) {
      const shown = find('reference').checked;
      known.setStyle({}, shown ? { stick: { radius: 0.09, colorscheme: 'greenCarbon' } } : {});
    }
    for (const contact of hit.contacts) {
      const [start, end] = contact.ends.map(([x, y, z]) => ({ x, y, z }));
      viewer.addCylinder({ start, end, radius: 0.07, dashed: true, color: contact.color });
      if (find('labels').checked) {
        const style = {
          position: end,
          fontSize: 12,
          fontColor: contact.color,
          backgroundColor: 'white',
          backgroundOpacity: 0.85,
          borderThickness: 0
        };
        viewer.addLabel(contact.residue, style, undefined, true); // true: render() draws it, not each label the whole
      }
    }
  };

  const draw = () => {
    prepare();
    viewer?.render();
  };

  const row = contact => {
    const line = document.createElement('tr');
    for (const text of [contact.residue, contact.kind, contact.distance.toFixed(2)]) {
      line.appendChild(document.createElement('td')).textContent = text;
    }
    return line;
  };

  const look = () => {
    prepare();
    viewer?.zoomTo({ model: ligand }).zoom(0.75).render();
  };

  const step = by => {
    choice.selectedIndex += by;
    look();
  };

  choice.addEventListener('change', look);
  find('previous').addEventListener('click', () => step(-1));
  find('next').addEventListener('click', () => step(1));
  for (const id of ['labels', 'reference']) {
    find(id)?.addEventListener('change', draw);
  }
  for (const button of document.querySelectorAll('button[data-hit]')) {
    button.addEventListener('click', () => {
      choice.selectedIndex = Number(button.dataset.hit);
      look();
      choice.scrollIntoView({ block: 'start' });
      choice.focus({ preventScroll: true });
    });
  }
  look();
})();
