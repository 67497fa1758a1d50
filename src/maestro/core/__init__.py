"""What every part of Maestro may import: errors, limits, ids and the clock."""
